//! One file a mistake; the message points at the wrong word.
//!
//! Only mistakes that the attribute itself reports are here: a type error inside an expanded test would not show, since
//! the cases are compiled as plain binaries, in which `#[test]` functions vanish.

#[test]
fn mistakes() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
