//! The reports of a device that no call returns: its loss, and errors that no scope catches.

use crossbeam_channel::{Receiver, bounded, never};
use std::sync::{Arc, OnceLock};

/// The known faults of a device.
#[derive(Debug)]
pub(super) struct Health {
    /// The reason why the device is lost, once it is.
    pub(super) lost: Arc<OnceLock<String>>,
    /// The first error outside every scope, until a call asks for it.
    pub(super) stray: Receiver<String>,
}

impl Health {
    /// Returns the state for a device of the application, for which no callback is installed, so that no fault is
    /// reported.
    pub(super) fn adopted() -> Health {
        Health { lost: Arc::default(), stray: never() }
    }

    /// Returns the state for a device that gpufeed has opened, and installs both callbacks.
    pub(super) fn watch(device: &wgpu::Device) -> Health {
        let lost: Arc<OnceLock<String>> = Arc::default();
        let reason = Arc::clone(&lost);
        device.set_device_lost_callback(move |why, message| {
            let what = match why {
                wgpu::DeviceLostReason::Destroyed => "the device was destroyed",
                wgpu::DeviceLostReason::Unknown => "the device is lost",
            };
            tracing::error!(what, message);
            let _ = reason.set(if message.is_empty() { what.to_owned() } else { format!("{what}: {message}") });
        });
        let (sender, stray) = bounded(1);
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            tracing::error!(%error, "uncaptured");
            // If the channel is full, it has the first error, which is the informative one.
            let _ = sender.try_send(error.to_string());
        }));
        Health { lost, stray }
    }
}
