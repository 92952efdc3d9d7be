//! A report as a page of the manual.

use std::fmt::Write;

use crate::report::{Block, Document, Table};

/// The page in Markdown. Pictures are `PICTURES/NAME.svg`.
pub fn markdown(document: &Document, pictures: &str) -> String {
    let mut page = format!("# {}\n", document.title);
    for block in &document.blocks {
        page.push('\n');
        self::block(&mut page, block, pictures);
    }
    page
}

/// Writing to a string cannot fail, here and below.
fn block(page: &mut String, block: &Block, pictures: &str) {
    match block {
        Block::Heading(text) => page.push_str(&format!("## {text}\n")),
        Block::Text(text) => page.push_str(&format!("{}\n", plain(text))),
        Block::Verdict(sentences) => {
            let quoted: Vec<String> = sentences.iter().map(|text| format!("> {}\n", plain(text))).collect();
            page.push_str(&quoted.join(">\n"));
        }
        Block::Warning(text) => page.push_str(&format!("**Note:** {}\n", plain(text))),
        Block::List(items) => items.iter().for_each(|item| page.push_str(&format!("- {}\n", plain(item)))),
        Block::Table(table) => self::table(page, table),
        Block::Figure(figure) => {
            let _ = write!(
                page,
                "![{}]({pictures}/{}.svg)\n\n{}\n",
                figure.scene.title.replace(['[', ']'], ""),
                figure.name,
                plain(&figure.caption)
            );
        }
        Block::Code(text) => page.push_str(&format!("```text\n{}\n```\n", text.trim_end())),
    }
}

fn table(page: &mut String, table: &Table) {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let cell = |text: &String| plain(text).replace('|', "\\|");
    let _ = write!(page, "*{}*\n\n", plain(&table.caption));
    page.push_str(&line(&table.columns.iter().map(cell).collect::<Vec<_>>()));
    let rule = |at: usize| if at < table.words { "---".to_owned() } else { "---:".to_owned() };
    page.push_str(&line(&(0..table.columns.len()).map(rule).collect::<Vec<_>>()));
    for row in &table.rows {
        page.push_str(&line(&row.iter().map(cell).collect::<Vec<_>>()));
    }
}

/// Text in which nothing is taken for a mark of Markdown, but `code`. One line.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut is_code = false;
    for letter in text.chars() {
        match letter {
            '\n' | '\r' => out.push(' '),
            '`' => {
                is_code = !is_code;
                out.push('`');
            }
            '*' | '_' | '<' | '[' | ']' if !is_code => {
                out.push('\\');
                out.push(letter);
            }
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Scene;

    #[test]
    fn a_page_has_all_blocks() {
        let mut document = Document::new("A study");
        document.blocks.push(Block::Verdict(vec!["One.".to_owned(), "Two.".to_owned()]));
        document.heading("Tables");
        document.text("a*b of `c*d`,\nx < y");
        document.table("Some", &["what", "n"], 1, vec![vec!["a|b".to_owned(), "3".to_owned()]]);
        document.figure("curve", Scene::new("A [line]", "", 1.0, 1.0), "Goes up.");
        document.blocks.push(Block::List(vec!["one".to_owned()]));
        document.blocks.push(Block::Warning("careful".to_owned()));
        document.blocks.push(Block::Code("durward lab\n".to_owned()));
        let expected = "# A study\n\n> One.\n>\n> Two.\n\n## Tables\n\na\\*b of `c*d`, x \\< y\n\n*Some*\n\n| what | n |\n\
                        | --- | ---: |\n| a\\|b | 3 |\n\n![A line](pictures/curve.svg)\n\nGoes up.\n\n- one\n\n**Note:** \
                        careful\n\n```text\ndurward lab\n```\n";
        assert_eq!(markdown(&document, "pictures"), expected);
    }
}
