use super::of_objects::of_objects;
use crate::objects::BoxFormat;

of_objects! {
    /// Writes boxes in another format: torchvision's `ConvertBoundingBoxFormat`. It leaves pixels alone.
    ///
    /// ```
    /// use gpufeed::targets::{BoxFormat, Moves, Objects};
    /// use gpufeed::transforms::{Key, ConvertBoundingBoxFormat};
    /// use gpufeed::{Output, Plan};
    ///
    /// let plan = Plan::compile(&[ConvertBoundingBoxFormat::new(BoxFormat::Cxcywh).into()], &Output::default())?;
    /// let mut objects = Objects::of_boxes(BoxFormat::Xyxy, vec![[2.0, 2.0, 6.0, 4.0]]);
    /// Moves::of(&plan.make_params(10, 10, &Key::default())?)?.objects(&mut objects)?;
    /// assert_eq!(objects.boxes(), [[4.0, 3.0, 4.0, 2.0]]);
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    ConvertBoundingBoxFormat {
        /// The format in which boxes are written from here on.
        format: BoxFormat, "xyxy, xywh and cxcywh work"
    }
}
