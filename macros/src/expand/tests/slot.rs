//! The test form: a slot of its own.

use quote::quote;

use super::{check, pool};

#[test]
fn a_slot_of_its_own() {
    check(
        pool(),
        quote! {
            #[test]
            fn works(slot: Slot) {
                use_it(slot);
            }
        },
        r##"
#[test]
fn works() {
    static __LEASE_SITE: ::lease_harness::__private::Site = ::lease_harness::__private::Site::new(
            ::core::module_path!(),
            "works",
            "pool.json",
        )
        .takes_its_slots();
    const _: () = {
        extern "C" fn register() {
            __LEASE_SITE.register();
        }
        #[used]
        #[cfg_attr(
            not(target_vendor = "apple"),
            unsafe(link_section = ".init_array.00101")
        )]
        #[cfg_attr(
            target_vendor = "apple",
            unsafe(link_section = "__DATA,__mod_init_func,mod_init_funcs")
        )]
        static REGISTER: extern "C" fn() = register;
    };
    let (__lease, __slot) = ::lease_harness::__private::test_slot(&__LEASE_SITE);
    let slot: Slot = __slot;
    let () = {
        use_it(slot);
    };
}
"##,
    );
}

#[test]
fn a_borrowed_slot() {
    check(
        pool(),
        quote! {
            /// Documented.
            #[test]
            fn works<'a>(#[allow(unused)] slot: &'a leases::Slot) -> Result<(), Error> {
                #![allow(clippy::all)]
                use_it(slot)
            }
        },
        r##"
/// Documented.
#[test]
fn works<'a>() -> Result<(), Error> {
    #![allow(clippy::all)]
    static __LEASE_SITE: ::lease_harness::__private::Site = ::lease_harness::__private::Site::new(
            ::core::module_path!(),
            "works",
            "pool.json",
        )
        .takes_its_slots();
    const _: () = {
        extern "C" fn register() {
            __LEASE_SITE.register();
        }
        #[used]
        #[cfg_attr(
            not(target_vendor = "apple"),
            unsafe(link_section = ".init_array.00101")
        )]
        #[cfg_attr(
            target_vendor = "apple",
            unsafe(link_section = "__DATA,__mod_init_func,mod_init_funcs")
        )]
        static REGISTER: extern "C" fn() = register;
    };
    let (__lease, __slot) = ::lease_harness::__private::test_slot(&__LEASE_SITE);
    #[allow(unused)]
    let slot: &leases::Slot = &__slot;
    let __value: Result<(), Error> = { use_it(slot) };
    #[allow(unreachable_code)] __value
}
"##,
    );
}

#[test]
fn a_mutable_pattern_and_an_exclusive_borrow() {
    check(
        pool(),
        quote! {
            fn works(mut slot: &mut Slot) {}
        },
        r##"
fn works() {
    static __LEASE_SITE: ::lease_harness::__private::Site = ::lease_harness::__private::Site::new(
            ::core::module_path!(),
            "works",
            "pool.json",
        )
        .takes_its_slots();
    const _: () = {
        extern "C" fn register() {
            __LEASE_SITE.register();
        }
        #[used]
        #[cfg_attr(
            not(target_vendor = "apple"),
            unsafe(link_section = ".init_array.00101")
        )]
        #[cfg_attr(
            target_vendor = "apple",
            unsafe(link_section = "__DATA,__mod_init_func,mod_init_funcs")
        )]
        static REGISTER: extern "C" fn() = register;
    };
    let (__lease, mut __slot) = ::lease_harness::__private::test_slot(&__LEASE_SITE);
    let mut slot: &mut Slot = &mut __slot;
    let () = {};
}
"##,
    );
}

#[test]
fn an_unused_slot_lives_as_long_as_the_test() {
    check(
        pool(),
        quote! {
            async fn works(_: Slot) {}
        },
        r##"
async fn works() {
    static __LEASE_SITE: ::lease_harness::__private::Site = ::lease_harness::__private::Site::new(
            ::core::module_path!(),
            "works",
            "pool.json",
        )
        .takes_its_slots();
    const _: () = {
        extern "C" fn register() {
            __LEASE_SITE.register();
        }
        #[used]
        #[cfg_attr(
            not(target_vendor = "apple"),
            unsafe(link_section = ".init_array.00101")
        )]
        #[cfg_attr(
            target_vendor = "apple",
            unsafe(link_section = "__DATA,__mod_init_func,mod_init_funcs")
        )]
        static REGISTER: extern "C" fn() = register;
    };
    let (__lease, __slot) = ::lease_harness::__private::test_slot_async(&__LEASE_SITE)
        .await;
    let _: Slot = __slot;
    let () = {};
}
"##,
    );
}

#[test]
fn a_slot_that_should_panic() {
    check(
        pool(),
        quote! {
            #[should_panic]
            async fn breaks(slot: Slot) {}
        },
        r##"
#[should_panic]
async fn breaks() {
    static __LEASE_SITE: ::lease_harness::__private::Site = ::lease_harness::__private::Site::new(
            ::core::module_path!(),
            "breaks",
            "pool.json",
        )
        .should_panic(true)
        .takes_its_slots();
    const _: () = {
        extern "C" fn register() {
            __LEASE_SITE.register();
        }
        #[used]
        #[cfg_attr(
            not(target_vendor = "apple"),
            unsafe(link_section = ".init_array.00101")
        )]
        #[cfg_attr(
            target_vendor = "apple",
            unsafe(link_section = "__DATA,__mod_init_func,mod_init_funcs")
        )]
        static REGISTER: extern "C" fn() = register;
    };
    let ::core::option::Option::Some((__lease, __slot)) = ::lease_harness::__private::test_slot_or_report_async(
            &__LEASE_SITE,
        )
        .await else { return };
    let slot: Slot = __slot;
    let () = {};
}
"##,
    );
}

#[test]
fn other_parameters_belong_to_others() {
    check(
        pool(),
        quote! {
            #[rstest]
            #[case(1)]
            pub(crate) fn works<T: Into<u8>>(fixture: u32, Slot { id, .. }: Slot, #[case] n: T) where T: Copy {}
        },
        r##"
#[rstest]
#[case(1)]
pub(crate) fn works<T: Into<u8>>(fixture: u32, #[case] n: T)
where
    T: Copy,
{
    static __LEASE_SITE: ::lease_harness::__private::Site = ::lease_harness::__private::Site::new(
            ::core::module_path!(),
            "works",
            "pool.json",
        )
        .makes_several_tests(::core::cfg!(test))
        .takes_its_slots();
    const _: () = {
        extern "C" fn register() {
            __LEASE_SITE.register();
        }
        #[used]
        #[cfg_attr(
            not(target_vendor = "apple"),
            unsafe(link_section = ".init_array.00101")
        )]
        #[cfg_attr(
            target_vendor = "apple",
            unsafe(link_section = "__DATA,__mod_init_func,mod_init_funcs")
        )]
        static REGISTER: extern "C" fn() = register;
    };
    let (__lease, __slot) = ::lease_harness::__private::test_slot(&__LEASE_SITE);
    let Slot { id, .. }: Slot = __slot;
    let () = {};
}
"##,
    );
}

#[test]
fn slots_of_several_pools() {
    check(
        quote!(pools("db.json", "ports.json", "keys.json"), wait = 0),
        quote! {
            #[test]
            fn works(db: Slot, #[allow(unused)] ports: &Slot, mut keys: &mut Slot) {
                use_them(db, ports, keys);
            }
        },
        r##"
#[test]
fn works() {
    static __LEASE_SITE: ::lease_harness::__private::Site = ::lease_harness::__private::Site::new(
            ::core::module_path!(),
            "works",
            "db.json",
        )
        .and_pools(&["ports.json", "keys.json"])
        .wait_not()
        .takes_its_slots();
    const _: () = {
        extern "C" fn register() {
            __LEASE_SITE.register();
        }
        #[used]
        #[cfg_attr(
            not(target_vendor = "apple"),
            unsafe(link_section = ".init_array.00101")
        )]
        #[cfg_attr(
            target_vendor = "apple",
            unsafe(link_section = "__DATA,__mod_init_func,mod_init_funcs")
        )]
        static REGISTER: extern "C" fn() = register;
    };
    let (__lease, [__slot_0, __slot_1, mut __slot_2]) = ::lease_harness::__private::test_slots(
        &__LEASE_SITE,
    );
    let db: Slot = __slot_0;
    #[allow(unused)]
    let ports: &Slot = &__slot_1;
    let mut keys: &mut Slot = &mut __slot_2;
    let () = {
        use_them(db, ports, keys);
    };
}
"##,
    );
}

#[test]
fn slots_of_several_pools_beside_a_fixture() {
    check(
        quote!(pools("db.json", "ports.json")),
        quote! {
            #[tokio::test]
            #[should_panic]
            async fn works(db: Slot, #[case] number: u8, _: Slot) {}
        },
        r##"
#[tokio::test]
#[should_panic]
async fn works(#[case] number: u8) {
    static __LEASE_SITE: ::lease_harness::__private::Site = ::lease_harness::__private::Site::new(
            ::core::module_path!(),
            "works",
            "db.json",
        )
        .and_pools(&["ports.json"])
        .should_panic(true)
        .makes_several_tests(::core::cfg!(test))
        .takes_its_slots();
    const _: () = {
        extern "C" fn register() {
            __LEASE_SITE.register();
        }
        #[used]
        #[cfg_attr(
            not(target_vendor = "apple"),
            unsafe(link_section = ".init_array.00101")
        )]
        #[cfg_attr(
            target_vendor = "apple",
            unsafe(link_section = "__DATA,__mod_init_func,mod_init_funcs")
        )]
        static REGISTER: extern "C" fn() = register;
    };
    let ::core::option::Option::Some((__lease, [__slot_0, __slot_1])) = ::lease_harness::__private::test_slots_or_report_async(
            &__LEASE_SITE,
        )
        .await else { return };
    let db: Slot = __slot_0;
    let _: Slot = __slot_1;
    let () = {};
}
"##,
    );
}
