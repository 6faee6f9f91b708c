use super::of_objects::of_objects;

of_objects! {
    /// Cuts boxes to the image: torchvision's `ClampBoundingBoxes`. It leaves pixels alone.
    ///
    /// Operators that move boxes cut them anyway. Neither they nor this one do where
    /// [`SetClampingMode`](super::SetClampingMode) has set `none`.
    ///
    /// ```
    /// use gpufeed::targets::{BoxFormat, Moves, Objects};
    /// use gpufeed::transforms::{Key, ClampBoundingBoxes};
    /// use gpufeed::{Output, Plan};
    ///
    /// let plan = Plan::compile(&[ClampBoundingBoxes::new().into()], &Output::default())?;
    /// let mut objects = Objects::of_boxes(BoxFormat::Xyxy, vec![[-2.0, 3.0, 20.0, 5.0]]);
    /// Moves::of(&plan.make_params(10, 10, &Key::default())?)?.objects(&mut objects)?;
    /// assert_eq!(objects.boxes(), [[0.0, 3.0, 10.0, 5.0]]);
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    #[derive(Default)]
    ClampBoundingBoxes {}
}
