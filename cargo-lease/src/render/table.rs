//! Aligned columns.

/// A table of text, its columns two spaces apart, each line ended.
///
/// What stands in a cell comes from other programs too, so that signs which steer a terminal are not handed on.
pub(super) fn table<const N: usize>(header: [&str; N], rows: &[[String; N]]) -> String {
    let mut lines = vec![header.map(str::to_owned)];
    lines.extend(rows.iter().map(|row| row.each_ref().map(|cell| harmless(cell))));
    let widths: [usize; N] = std::array::from_fn(|column| lines.iter().map(|line| width(&line[column])).max().unwrap_or(0));
    let mut text = String::new();
    for line in &lines {
        let mut end = 0;
        for (cell, width_of_column) in line.iter().zip(widths) {
            text.push_str(cell);
            if !cell.is_empty() {
                end = text.len();
            }
            text.push_str(&" ".repeat(width_of_column - width(cell) + 2));
        }
        text.truncate(end.max(text.rfind('\n').map_or(0, |at| at + 1)));
        text.push('\n');
    }
    text
}

fn width(text: &str) -> usize {
    text.chars().count()
}

fn harmless(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_lines_have_no_tail() {
        let row = |a: &str, b: &str, c: &str| [a.to_owned(), b.to_owned(), c.to_owned()];
        let rows = [row("1", "hëld", "x"), row("22", "", ""), row("", "", "\u{1b}[2Jy")];
        let text = table(["ID", "STATE", "WHO"], &rows);
        let expected = "ID  STATE  WHO\n1   hëld   x\n22\n           \u{fffd}[2Jy\n";
        assert_eq!(text, expected);
    }
}
