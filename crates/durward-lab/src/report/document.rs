//! What a report says, before it is a page or a PDF: both are made of the same blocks, so that both say the same.

use crate::draw::Scene;

/// A report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// Its title.
    pub title: String,
    /// From top to bottom.
    pub blocks: Vec<Block>,
    /// What a page holds beside what it shows: records, as [`RunRecord::to_html`](crate::record::RunRecord::to_html) writes them.
    pub data: Vec<String>,
}

/// A part of a report. Texts are plain: they are escaped where they are written.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// What follows is about this.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// What the report comes to, one sentence each.
    Verdict(Vec<String>),
    /// What makes numbers doubtful.
    Warning(String),
    /// Sentences that stand beside each other.
    List(Vec<String>),
    /// Numbers.
    Table(Table),
    /// A picture.
    Figure(Box<Figure>),
    /// Text of a file or a command, as it is.
    Code(String),
}

/// Numbers in rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What it holds.
    pub caption: String,
    /// What stands above the columns.
    pub columns: Vec<String>,
    /// How many columns, from the left, are words.
    pub words: usize,
    /// As many cells each as there are columns.
    pub rows: Vec<Vec<String>>,
}

/// A picture with what is said of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The name of its files.
    pub name: String,
    /// The picture.
    pub scene: Scene,
    /// How to read it.
    pub caption: String,
}

impl Document {
    /// An empty report.
    pub fn new(title: &str) -> Document {
        Document { title: title.to_owned(), ..Document::default() }
    }

    /// Adds a heading.
    pub fn heading(&mut self, text: &str) {
        self.blocks.push(Block::Heading(text.to_owned()));
    }

    /// Adds a paragraph.
    pub fn text(&mut self, text: &str) {
        self.blocks.push(Block::Text(text.to_owned()));
    }

    /// Adds a picture.
    pub fn figure(&mut self, name: &str, scene: Scene, caption: &str) {
        let (name, caption) = (name.to_owned(), caption.to_owned());
        self.blocks.push(Block::Figure(Box::new(Figure { name, scene, caption })));
    }

    /// Adds a table; one without rows is left out.
    pub fn table(&mut self, caption: &str, columns: &[&str], words: usize, rows: Vec<Vec<String>>) {
        if !rows.is_empty() {
            let columns = columns.iter().map(|name| (*name).to_owned()).collect();
            self.blocks.push(Block::Table(Table { caption: caption.to_owned(), columns, words, rows }));
        }
    }

    /// All pictures.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Figure(figure) => Some(figure.as_ref()),
            Block::Heading(_)
            | Block::Text(_)
            | Block::Verdict(_)
            | Block::Warning(_)
            | Block::List(_)
            | Block::Table(_)
            | Block::Code(_) => None,
        })
    }
}
