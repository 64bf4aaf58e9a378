//! Collectives among the GPUs of one server: `size` bytes, `num_workers` GPUs. How a server's GPUs
//! are joined is a property of the server, so its kind (GPUs a server has) stands as the kernel.

use super::{Timed, seconds};
use crate::calibrate::tables::csv::Line;
use crate::cost::calibrated::{Collective, Exchange, Shape};

pub(super) fn read(line: &Line<'_>, out: &mut Vec<Timed>) -> Result<(), String> {
    let ranks = line.positive("num_workers")?;
    if ranks < 2.0 {
        return Err("num_workers is below 2".to_owned());
    }
    if line.positive("devices_per_node")? < ranks {
        return Err("over several servers: the drawn links price that".to_owned());
    }
    let server = line.positive("max_devices_per_node")?;
    for collective in [Collective::AllReduce, Collective::SendReceive] {
        let Some(seconds) = seconds(line, collective.word())? else {
            continue;
        };
        let shape = Exchange {
            collective,
            ranks,
            bytes: line.positive("size")?,
            value: 2.0,
        };
        out.push(Timed {
            shape: Shape::Nccl(shape),
            seconds,
            precision: collective.word(),
            kernel: format!("servers of {server}"),
        });
    }
    Ok(())
}
