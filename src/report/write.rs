//! A figure and its numbers as files: whole or not at all.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::error::ReportError;
use super::figure::Figure;
use super::png::to_png;
use super::style::Style;
use super::svg::to_svg;
use super::table::Table;

/// Pixels per unit of an image that is not asked for in another scale: sharp on a dense screen and in print.
const PNG_SCALE: f32 = 2.0;

/// Where a figure was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The drawing.
    pub svg: PathBuf,
    /// The image.
    pub png: PathBuf,
    /// The numbers.
    pub csv: PathBuf,
}

/// Writes `figure` as `stem.svg` and `stem.png` and `table` as `stem.csv` into `dir`, in the default style.
pub fn write_figure(
    dir: &Path,
    stem: &str,
    figure: &Figure,
    table: &Table,
) -> Result<Written, ReportError> {
    write_figure_as(dir, stem, figure, table, &Style::default(), PNG_SCALE)
}

/// Writes `figure` as `stem.svg` and `stem.png` (`scale` pixels per unit of `style`) and `table` as `stem.csv` into
/// `dir`, which is made if missing. Existing files are replaced. Nothing is written before all three are drawn, and
/// each file appears complete or not at all.
pub fn write_figure_as(
    dir: &Path,
    stem: &str,
    figure: &Figure,
    table: &Table,
    style: &Style,
    scale: f32,
) -> Result<Written, ReportError> {
    check(stem)?;
    let svg = to_svg(figure, style);
    let png = to_png(figure, style, scale)?;
    let csv = table.to_csv()?;
    std::fs::create_dir_all(dir).map_err(|cause| ReportError::Write {
        path: dir.to_owned(),
        cause,
    })?;
    Ok(Written {
        svg: replace(dir, &format!("{stem}.svg"), svg.as_bytes())?,
        png: replace(dir, &format!("{stem}.png"), &png)?,
        csv: replace(dir, &format!("{stem}.csv"), csv.as_bytes())?,
    })
}

/// A stem that every file system takes and that stays in its folder.
fn check(stem: &str) -> Result<(), ReportError> {
    let plain =
        |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.' | '+' | '(' | ')');
    let good = !stem.is_empty()
        && stem.chars().count() <= 120
        && stem.len() <= 200
        && stem.chars().all(plain)
        && !stem.starts_with(['.', ' '])
        && !stem.ends_with(' ');
    if good {
        Ok(())
    } else {
        Err(ReportError::FileName {
            stem: stem.to_owned(),
        })
    }
}

fn replace(dir: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf, ReportError> {
    let path = dir.join(name);
    let failed = |cause| ReportError::Write {
        path: path.clone(),
        cause,
    };
    let mut builder = tempfile::Builder::new();
    // Temporary files are private by default; a figure is meant to be read by whoever may read the folder.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder
        .prefix(".figure-")
        .tempfile_in(dir)
        .map_err(failed)?;
    file.write_all(bytes)
        .and_then(|()| file.as_file().sync_all())
        .map_err(failed)?;
    file.persist(&path).map_err(|error| failed(error.error))?;
    Ok(path)
}
