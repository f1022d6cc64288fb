/// Hands ten names in each of thirty modules to a macro.
macro_rules! three_hundred {
    ($make:ident) => {
        three_hundred!(
            $make: m0 m1 m2 m3 m4 m5 m6 m7 m8 m9 m10 m11 m12 m13 m14 m15 m16 m17 m18 m19 m20 m21 m22 m23 m24 m25 m26 m27 m28 m29
        );
    };
    ($make:ident: $($module:ident)*) => {
        $(mod $module { $make!(t0 t1 t2 t3 t4 t5 t6 t7 t8 t9); })*
    };
}
