//! Reads what is wanted of a solution: `[[report]]` and `[output]`.

use super::convert::{
    Mismatch, array, boolean, count, direction, formula, list, located, number, one_or_more, text,
};
use super::read::{Reader, Section};
use super::*;
use crate::document::{Node, Table, Value};
use crate::names;

pub(super) fn reports(r: &mut Reader, root: &Table) -> Vec<Report> {
    let mut reports = Vec::new();
    for s in r.sections(root, "report", "report") {
        let name = r.required(&s, "name", text);
        let kind = report_kind(r, &s);
        if let (Some(name), Some(kind)) = (name, kind) {
            reports.push(Report { name, kind });
        }
    }
    reports
}

fn report_kind(r: &mut Reader, s: &Section) -> Option<ReportKind> {
    const KINDS: [&str; 5] = ["integral", "max", "min", "point", "reaction"];
    let given: Vec<&(Text, Node)> = KINDS
        .iter()
        .filter_map(|kind| s.table.entry(kind))
        .collect();
    let [(kind, _)] = given[..] else {
        let fault = Diagnostic::new(format!("a report needs one of {}", names::either(&KINDS)));
        r.faults.push(match given[..] {
            [(first, _), (second, _), ..] => fault
                .at(&second.at)
                .label(format!("there is `{}` too", first.value)),
            _ => fault.at(s.at),
        });
        return None;
    };
    let is_point = kind.value == "point";
    if let (false, Some((key, _))) = (is_point, s.table.entry("value")) {
        r.faults.push(
            Diagnostic::new("`report.value` belongs to a `point`")
                .at(&key.at)
                .label(format!("write the formula at `{}`", kind.value)),
        );
    }
    match kind.value.as_str() {
        "integral" => r.required(s, "integral", text).map(ReportKind::Integral),
        "max" => r.required(s, "max", formula).map(ReportKind::Max),
        "min" => r.required(s, "min", formula).map(ReportKind::Min),
        "reaction" => r
            .required(s, "reaction", one_or_more(text))
            .map(ReportKind::Reaction),
        _ => {
            let point = r.required(s, "point", located(list(number)));
            let value = r.required(s, "value", formula);
            point
                .zip(value)
                .map(|(point, value)| ReportKind::Point { point, value })
        }
    }
}

pub(super) fn output(r: &mut Reader, root: &Table) -> Output {
    let mut output = Output {
        vtu: true,
        picture: None,
        fields: Vec::new(),
    };
    let Some(s) = r.section(root, "output") else {
        return output;
    };
    output.vtu = r.optional(&s, "vtu", boolean).unwrap_or(true);
    output.picture = picture(r, &s);
    for field in r.sections(s.table, "fields", "output.fields") {
        let name = r.required(&field, "name", text);
        let value = r.required(&field, "value", formula);
        output.fields.extend(
            name.zip(value)
                .map(|(name, value)| OutputField { name, value }),
        );
    }
    output
}

/// The keys of `output.picture`, which may also be `true` for `empty` or `false` for no picture.
pub(crate) fn picture_section<'d>(
    r: &mut Reader,
    output: &Section<'d>,
    empty: &'d Table,
) -> Option<Section<'d>> {
    let (key, node) = output.table.entry("picture")?;
    let table = match &node.value {
        Value::Boolean(false) => return None,
        Value::Boolean(true) => empty,
        Value::Table(table) => table,
        _ => {
            let expected = "true, false, or a table";
            let label = format!("this is {}", node.value.kind());
            let mismatch = Mismatch::new(&node.at, expected, label);
            r.note::<()>("output.picture", Err(mismatch));
            return None;
        }
    };
    Some(Section {
        path: "output.picture".to_string(),
        table,
        at: &key.at,
    })
}

/// `view` and `size` of a picture.
pub(crate) fn view_and_size(r: &mut Reader, s: &Section) -> (Option<[f64; 3]>, [usize; 2]) {
    let view = r.optional(s, "view", direction(number));
    let size = r.optional(s, "size", array(count(16..=16_384)));
    (view, size.unwrap_or([1200, 900]))
}

fn picture(r: &mut Reader, output: &Section) -> Option<Picture> {
    let empty = Table::default();
    let s = picture_section(r, output, &empty)?;
    let color = r.optional(&s, "color", formula);
    let deform = r.optional(&s, "deform", |node| match &node.value {
        Value::Text(word) if word == "auto" => Ok(Deform::Auto),
        _ => number(node).map(Deform::Scale).map_err(|_| {
            let label = format!("this is {}", node.value.kind());
            Mismatch::new(&node.at, "\"auto\" or a number", label)
        }),
    });
    let (view, size) = view_and_size(r, &s);
    Some(Picture {
        color,
        deform: deform.unwrap_or(Deform::Auto),
        view,
        size,
    })
}
