// SPDX-License-Identifier: GPL-2.0

use super::*;

const CASE: &str = "\
// SPDX-License-Identifier: GPL-2.0

//! A buffer is returned once.

// error: E0382
// error: \"does not fit\"

fn f() {
    #[cfg(not(control))]
    drop(1);
}
";

fn message(level: &str, code: Option<&str>, text: &str) -> Message {
    Message {
        message: text.to_owned(),
        level: level.to_owned(),
        code: code.map(|code| Code {
            code: code.to_owned(),
        }),
        rendered: Some(format!("{level}: {text}\n")),
    }
}

#[test]
fn the_head_of_a_case_is_read() {
    let case = Case::parse(CASE).unwrap();
    assert_eq!(case.rule, "A buffer is returned once.");
    let errors: Vec<_> = case.errors.iter().map(ToString::to_string).collect();
    assert_eq!(errors, ["E0382", "\"does not fit\""]);
}

#[test]
fn an_incomplete_case_is_refused() {
    for (from, to) in [
        ("//! A buffer is returned once.", ""),
        ("cfg(not(control))", "cfg(any())"),
        ("// error: E0382", "// error: E38"),
        ("// error: E0382", "// error: use of moved value"),
        ("// error: E0382", "// error: \"\""),
        ("// error: E0382", "// error:"),
    ] {
        assert!(Case::parse(&CASE.replace(from, to)).is_err(), "{to}");
    }
    let none = CASE.replace("// error: E0382\n// error: \"does not fit\"\n", "");
    assert!(Case::parse(&none).is_err());
}

#[test]
fn exactly_the_stated_errors_must_come() {
    let case = Case::parse(CASE).unwrap();
    let moved = || message("error", Some("E0382"), "use of moved value");
    let text = || message("error", None, "the frame does not fit");
    let other = || message("error", Some("E0425"), "cannot find value");
    let warning = || message("warning", Some("unused"), "unused");
    assert!(case.check(false, &[moved(), text()]).is_ok());
    assert!(case
        .check(false, &[moved(), moved(), text(), warning()])
        .is_ok());
    assert!(case.check(true, &[]).is_err());
    assert!(case.check(true, &[moved(), text()]).is_err());
    assert!(case.check(false, &[]).is_err());
    assert!(case.check(false, &[moved()]).is_err());
    assert!(case.check(false, &[text()]).is_err());
    assert!(case.check(false, &[moved(), text(), other()]).is_err());
    assert!(case.check(false, &[warning()]).is_err());
}

#[test]
fn messages_are_parsed() {
    let stderr = concat!(
        r#"{"$message_type":"diagnostic","message":"use of moved value","code":{"code":"E0382","explanation":""},"level":"error","spans":[],"children":[],"rendered":"error[E0382]: x\n"}"#,
        "\n",
        r#"{"$message_type":"diagnostic","message":"aborting due to 1 previous error","code":null,"level":"error","spans":[],"children":[],"rendered":"error: aborting\n"}"#,
        "\n",
        r#"{"$message_type":"diagnostic","message":"For more information about this error, try `rustc --explain E0382`.","code":null,"level":"failure-note","spans":[],"children":[],"rendered":"x"}"#,
        "\n",
        r#"{"$message_type":"artifact","artifact":"x.o","emit":"link"}"#,
        "\n"
    );
    let messages = parse_messages(stderr).unwrap();
    assert_eq!(messages.len(), 1);
    assert!(messages[0].is_error());
    assert!(Expected::Code("E0382".to_owned()).matches(&messages[0]));
    assert!(parse_messages("thread 'rustc' panicked").is_err());
}

#[test]
fn kbuilds_command_is_adapted() {
    let cmd = "savedcmd_s/x.o := OBJTREE=/k RUST_MODFILE=s/x /bin/rustc -Zcrate-attr='feature(a,b)' --cfg MODULE  \
               @/k/rustc_cfg -L rust/net --extern net --out-dir s/ --emit=dep-info=s/.x.o.d --emit=llvm-bc=s/x.bc \
               /r/s/x.rs ; llvm-link --internalize s/x.bc && clang -c s/x.bc -o s/x.o\n\nsource_s/x.o := /r/s/x.rs\n";
    let command = saved_command(cmd).unwrap();
    let words = adapt(
        &command,
        Path::new("/r/ui/y.rs"),
        "ui_y",
        Path::new("/t"),
        true,
    )
    .unwrap();
    assert_eq!(
        words.join(" "),
        "OBJTREE=/k RUST_MODFILE=s/x /bin/rustc -Zcrate-attr=feature(a,b) --cfg MODULE @/k/rustc_cfg -L rust/net \
         --extern net --emit=obj=/t/ui_y.o --crate-name ui_y --error-format=json -Amissing_docs --cfg control /r/ui/y.rs"
    );
    assert!(adapt(&words[..3], Path::new("/y.rs"), "y", Path::new("/t"), false).is_err());
    assert_eq!(assignment("OBJTREE=/k"), Some(("OBJTREE", "/k")));
    assert_eq!(assignment("--emit=obj"), None);
    assert_eq!(assignment("/bin/rustc"), None);
}

#[test]
fn a_file_without_a_command_is_refused() {
    assert!(saved_command("deps_x := a\n").is_err());
}
