// SPDX-License-Identifier: GPL-2.0

//! What a pool does about DMA, as a type.

use kernel::bindings::dma_data_direction;

mod private {
    pub trait Sealed {}
}

/// What a pool does about DMA: [`Unmapped`], [`FromDevice`] or
/// [`Bidirectional`].
pub trait Mapping: private::Sealed {
    /// The direction of the mappings.
    #[doc(hidden)]
    const DIRECTION: dma_data_direction;

    /// The pool's flags.
    #[doc(hidden)]
    const FLAGS: u32;
}

/// The kinds of [`Mapping`] under which every buffer has a DMA address.
pub trait Mapped: Mapping {}

/// Buffers are not mapped. For devices that are software.
pub enum Unmapped {}

impl private::Sealed for Unmapped {}

impl Mapping for Unmapped {
    const DIRECTION: dma_data_direction = dma_data_direction::DMA_NONE;
    const FLAGS: u32 = 0;
}

/// The pool maps each page once, for the device to write, and hands it to the
/// device again (`PP_FLAG_DMA_SYNC_DEV`) whenever it is recycled.
pub enum FromDevice {}

impl private::Sealed for FromDevice {}

impl Mapping for FromDevice {
    const DIRECTION: dma_data_direction = dma_data_direction::DMA_FROM_DEVICE;
    const FLAGS: u32 = net_bindings::PP_FLAG_DMA_MAP | net_bindings::PP_FLAG_DMA_SYNC_DEV;
}

impl Mapped for FromDevice {}

/// As [`FromDevice`], and the device may read the page too: for pages that are
/// sent again, as by `XDP_TX`.
pub enum Bidirectional {}

impl private::Sealed for Bidirectional {}

impl Mapping for Bidirectional {
    const DIRECTION: dma_data_direction = dma_data_direction::DMA_BIDIRECTIONAL;
    const FLAGS: u32 = FromDevice::FLAGS;
}

impl Mapped for Bidirectional {}
