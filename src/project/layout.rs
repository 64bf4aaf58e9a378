//! How a document is laid out in lines, so that a change of one thing is a change of one line.
//!
//! A list of things (groups, links, pools) has a line or block per thing; what fits on a line is
//! one line (a group, a link bundle, a layout); what does not has a line per field. The text in is
//! RON without spaces, as our serialiser writes it.

/// Longest line before a thing is broken up; a link bundle fits.
const WIDTH: usize = 200;
const INDENT: usize = 2;

/// Part of a document.
enum Node<'a> {
    /// A number, string or word.
    Atom(&'a str),
    /// `name(…)`, `(…)`, `[…]` or `{…}`.
    Group {
        name: &'a str,
        open: char,
        close: char,
        items: Vec<(Option<&'a str>, Node<'a>)>,
        /// Whether it has a line per item however short it is.
        tall: bool,
    },
}

/// Lays out RON text.
pub(super) fn lay_out(compact: &str) -> String {
    let mut rest = compact;
    let node = read_node(&mut rest);
    let mut out = String::with_capacity(compact.len() * 2);
    write_node(&node, 0, 0, &mut out);
    out.push('\n');
    out
}

/// Takes a token off the text: a bracket, comma or colon, or the run up to the next of them.
fn take_atom<'a>(rest: &mut &'a str) -> &'a str {
    let mut in_string = false;
    let mut escaped = false;
    for (at, c) in rest.char_indices() {
        if in_string {
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else if c == '"' {
            in_string = true;
        } else if matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | ',' | ':') {
            let (atom, after) = rest.split_at(at);
            *rest = after;
            return atom;
        }
    }
    std::mem::take(rest)
}

fn take_char(rest: &mut &str, wanted: &[char]) -> Option<char> {
    let first = rest.chars().next().filter(|c| wanted.contains(c))?;
    *rest = &rest[first.len_utf8()..];
    Some(first)
}

fn read_node<'a>(rest: &mut &'a str) -> Node<'a> {
    let name = take_atom(rest);
    let Some(open) = take_char(rest, &['(', '[', '{']) else {
        return Node::Atom(name);
    };
    let close = match open {
        '(' => ')',
        '[' => ']',
        _ => '}',
    };
    let mut items = Vec::new();
    while !rest.is_empty() && take_char(rest, &[close]).is_none() {
        let mut key = None;
        let mut value = read_node(rest);
        if let (Node::Atom(word), Some(_)) = (&value, take_char(rest, &[':'])) {
            key = Some(*word);
            value = read_node(rest);
        }
        items.push((key, value));
        take_char(rest, &[',']);
    }
    let holds_things = open != '('
        && items
            .iter()
            .any(|(_, item)| matches!(item, Node::Group { .. }));
    let holds_tall = items
        .iter()
        .any(|(_, item)| matches!(item, Node::Group { tall: true, .. }));
    Node::Group {
        name,
        open,
        close,
        items,
        tall: holds_things || holds_tall,
    }
}

/// Writes a node that starts at column `at` of a line indented by `indent`.
fn write_node(node: &Node, indent: usize, at: usize, out: &mut String) {
    let (name, open, close, items) = match node {
        Node::Atom(text) => {
            out.push_str(text);
            return;
        }
        Node::Group {
            name,
            open,
            close,
            items,
            tall,
        } => {
            let line = (!tall).then(|| one_line(node)).filter(|line| {
                // One more for the comma after it.
                at + line.chars().count() < WIDTH
            });
            if let Some(line) = line {
                out.push_str(&line);
                return;
            }
            (name, open, close, items)
        }
    };
    out.push_str(name);
    out.push(*open);
    let inner = indent + INDENT;
    for (key, item) in items {
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', inner));
        let mut at = inner;
        if let Some(key) = key {
            out.push_str(key);
            out.push_str(": ");
            at += key.chars().count() + 2;
        }
        write_node(item, inner, at, out);
        out.push(',');
    }
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', indent));
    out.push(*close);
}

fn one_line(node: &Node) -> String {
    match node {
        Node::Atom(text) => (*text).to_owned(),
        Node::Group {
            name,
            open,
            close,
            items,
            ..
        } => {
            let items: Vec<String> = items
                .iter()
                .map(|(key, item)| match key {
                    Some(key) => format!("{key}: {}", one_line(item)),
                    None => one_line(item),
                })
                .collect();
            format!("{name}{open}{}{close}", items.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_have_a_line_each() {
        let text = lay_out(
            r#"(links:[(id:"a",b:One(3)),(id:"b")],loads:[1,2],empty:[],map:{0:(x:1)},n:Some("(\",:[")))"#,
        );
        assert_eq!(
            text,
            "(\n  links: [\n    (id: \"a\", b: One(3)),\n    (id: \"b\"),\n  ],\n  loads: [1, 2],\n  empty: [],\n  \
             map: {\n    0: (x: 1),\n  },\n  n: Some(\"(\\\",:[\"),\n)\n"
        );
    }

    #[test]
    fn what_does_not_fit_a_line_has_a_line_per_field() {
        let long = "x".repeat(120);
        let text = lay_out(&format!("(a:(b:\"{long}\",c:\"{long}\"))"));
        assert_eq!(text.lines().count(), 6);
        assert_eq!(lay_out("(a:(b:1))"), "(a: (b: 1))\n");
    }
}
