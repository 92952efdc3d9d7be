//! A paper's numbers next to ours.

use crate::report::Document;

/// One number that a paper prints, and what is ours for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PaperNumber {
    /// Where it is printed: `figure 3`.
    pub place: String,
    /// Of what, in the paper's words.
    pub what: String,
    /// As it is printed; empty where the paper gives none.
    pub paper: String,
    /// What was measured here; empty where nothing was.
    pub ours: String,
    /// What ours is taken from, and why it differs.
    pub because: String,
}

impl PaperNumber {
    /// A number that was measured here too.
    pub fn new(place: &str, what: &str, paper: &str, ours: &str, because: &str) -> PaperNumber {
        let [place, what, paper, ours, because] = [place, what, paper, ours, because].map(str::to_owned);
        PaperNumber { place, what, paper, ours, because }
    }
}

/// Adds a table of such numbers; what is missing on a side is said there.
pub fn number_table(document: &mut Document, caption: &str, numbers: &[PaperNumber]) {
    let or = |text: &str, otherwise: &str| {
        if text.is_empty() { otherwise.to_owned() } else { text.to_owned() }
    };
    let row = |number: &PaperNumber| {
        let PaperNumber { place, what, paper, ours, because } = number;
        vec![place.clone(), what.clone(), or(paper, "not printed"), or(ours, "not measured"), because.clone()]
    };
    let columns = ["printed in", "what", "paper", "here", "how ours was measured, or why it differs"];
    document.table(caption, &columns, 5, numbers.iter().map(row).collect());
}
