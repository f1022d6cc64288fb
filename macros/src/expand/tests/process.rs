//! The process form.

use quote::quote;

use super::{check, pool};

#[test]
fn a_test_in_the_process_slot() {
    check(
        pool(),
        quote! {
            #[test]
            fn works() {
                body();
            }
        },
        r##"
#[test]
fn works() {
    static __LEASE_SITE: ::lease_harness::__private::Site = ::lease_harness::__private::Site::new(
        ::core::module_path!(),
        "works",
        "pool.json",
    );
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
    let __lease = ::lease_harness::__private::process_slot(&__LEASE_SITE);
    let () = {
        body();
    };
}
"##,
    );
}

#[test]
fn every_option() {
    check(
        quote!(pool = "db/pool.json", ttl = 0.5, wait = "1m", owner = "ci", reset, crate = crate::leases),
        quote! {
            fn works() {}
        },
        r##"
fn works() {
    static __LEASE_SITE: crate::leases::__private::Site = crate::leases::__private::Site::new(
            ::core::module_path!(),
            "works",
            "db/pool.json",
        )
        .ttl_minutes(0.5f64)
        .wait_millis(60000u64)
        .owner("ci")
        .resets();
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
    let __lease = crate::leases::__private::process_slot(&__LEASE_SITE);
    let () = {};
}
"##,
    );
}

#[test]
fn not_waiting() {
    check(
        quote!(pool = "pool.json", wait = 0),
        quote! {
            fn works() {}
        },
        r##"
fn works() {
    static __LEASE_SITE: ::lease_harness::__private::Site = ::lease_harness::__private::Site::new(
            ::core::module_path!(),
            "works",
            "pool.json",
        )
        .wait_not();
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
    let __lease = ::lease_harness::__private::process_slot(&__LEASE_SITE);
    let () = {};
}
"##,
    );
}

#[test]
fn a_result_is_kept_until_its_last_temporary_is_gone() {
    check(
        pool(),
        quote! {
            #[test]
            fn works() -> Result<(), Box<dyn Error>> {
                client()?.query()
            }
        },
        r##"
#[test]
fn works() -> Result<(), Box<dyn Error>> {
    static __LEASE_SITE: ::lease_harness::__private::Site = ::lease_harness::__private::Site::new(
        ::core::module_path!(),
        "works",
        "pool.json",
    );
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
    let __lease = ::lease_harness::__private::process_slot(&__LEASE_SITE);
    let __value: Result<(), Box<dyn Error>> = { client()?.query() };
    #[allow(unreachable_code)] __value
}
"##,
    );
}

#[test]
fn an_opaque_result() {
    check(
        pool(),
        quote! {
            #[test]
            fn works() -> impl Termination {
                ExitCode::SUCCESS
            }
        },
        r##"
#[test]
fn works() -> impl Termination {
    static __LEASE_SITE: ::lease_harness::__private::Site = ::lease_harness::__private::Site::new(
        ::core::module_path!(),
        "works",
        "pool.json",
    );
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
    let __lease = ::lease_harness::__private::process_slot(&__LEASE_SITE);
    let __value = { ExitCode::SUCCESS };
    #[allow(unreachable_code)] __value
}
"##,
    );
}

#[test]
fn never_returning() {
    check(
        pool(),
        quote! {
            fn works() -> ! {
                std::process::exit(0)
            }
        },
        r##"
fn works() -> ! {
    static __LEASE_SITE: ::lease_harness::__private::Site = ::lease_harness::__private::Site::new(
        ::core::module_path!(),
        "works",
        "pool.json",
    );
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
    let __lease = ::lease_harness::__private::process_slot(&__LEASE_SITE);
    { std::process::exit(0) }
}
"##,
    );
}

#[test]
fn should_panic() {
    check(
        pool(),
        quote! {
            #[should_panic(expected = "boom")]
            fn breaks() {
                panic!("boom");
            }
        },
        r##"
#[should_panic(expected = "boom")]
fn breaks() {
    static __LEASE_SITE: ::lease_harness::__private::Site = ::lease_harness::__private::Site::new(
            ::core::module_path!(),
            "breaks",
            "pool.json",
        )
        .should_panic(true);
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
    let ::core::option::Option::Some(__lease) = ::lease_harness::__private::process_slot_or_report(
        &__LEASE_SITE,
    ) else { return };
    let () = {
        panic!("boom");
    };
}
"##,
    );
}

#[test]
fn sometimes_ignored_sometimes_panicking() {
    check(
        pool(),
        quote! {
            #[cfg_attr(windows, ignore)]
            #[cfg_attr(unix, cfg_attr(debug_assertions, should_panic))]
            fn breaks() {
                panic!("boom");
            }
        },
        r##"
#[cfg_attr(windows, ignore)]
#[cfg_attr(unix, cfg_attr(debug_assertions, should_panic))]
fn breaks() {
    static __LEASE_SITE: ::lease_harness::__private::Site = ::lease_harness::__private::Site::new(
            ::core::module_path!(),
            "breaks",
            "pool.json",
        )
        .ignored(::core::cfg!(windows))
        .should_panic((::core::cfg!(unix) && (::core::cfg!(debug_assertions))));
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
    let ::core::option::Option::Some(__lease) = ::lease_harness::__private::process_slot_or_report(
        &__LEASE_SITE,
    ) else { return };
    let () = {
        panic!("boom");
    };
}
"##,
    );
}

#[test]
fn async_in_the_process_slot() {
    check(
        pool(),
        quote! {
            #[tokio::test]
            async fn works() {
                body().await;
            }
        },
        r##"
#[tokio::test]
async fn works() {
    static __LEASE_SITE: ::lease_harness::__private::Site = ::lease_harness::__private::Site::new(
        ::core::module_path!(),
        "works",
        "pool.json",
    );
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
    let __lease = ::lease_harness::__private::process_slot_async(&__LEASE_SITE).await;
    let () = {
        body().await;
    };
}
"##,
    );
}

#[test]
fn async_should_panic() {
    check(
        pool(),
        quote! {
            #[tokio::test]
            #[should_panic]
            async fn breaks() {
                body().await;
            }
        },
        r##"
#[tokio::test]
#[should_panic]
async fn breaks() {
    static __LEASE_SITE: ::lease_harness::__private::Site = ::lease_harness::__private::Site::new(
            ::core::module_path!(),
            "breaks",
            "pool.json",
        )
        .should_panic(true);
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
    let ::core::option::Option::Some(__lease) = ::lease_harness::__private::process_slot_or_report_async(
            &__LEASE_SITE,
        )
        .await else { return };
    let () = {
        body().await;
    };
}
"##,
    );
}

#[test]
fn a_test_in_the_process_slots_of_several_pools() {
    check(
        quote!(pools("db.json", "ports.json")),
        quote! {
            fn works() {}
        },
        r##"
fn works() {
    static __LEASE_SITE: ::lease_harness::__private::Site = ::lease_harness::__private::Site::new(
            ::core::module_path!(),
            "works",
            "db.json",
        )
        .and_pools(&["ports.json"]);
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
    let __lease = ::lease_harness::__private::process_slot(&__LEASE_SITE);
    let () = {};
}
"##,
    );
}
