use super::of_objects::of_objects;
use crate::objects::Clamping;

of_objects! {
    /// Sets what later operators do to boxes that they lead out of the image: torchvision's `SetClampingMode`. It leaves pixels alone.
    ///
    /// ```
    /// use gpufeed::targets::{BoxFormat, Clamping, Moves, Objects};
    /// use gpufeed::transforms::{CenterCrop, Key, SetClampingMode};
    /// use gpufeed::{Output, Plan};
    ///
    /// let list = [SetClampingMode::new(Clamping::None).into(), CenterCrop::new(6).into()];
    /// let plan = Plan::compile(&list, &Output::default())?;
    /// let mut objects = Objects::of_boxes(BoxFormat::Xyxy, vec![[0.0, 3.0, 5.0, 5.0]]);
    /// Moves::of(&plan.make_params(10, 10, &Key::default())?)?.objects(&mut objects)?;
    /// assert_eq!(objects.boxes(), [[-2.0, 1.0, 3.0, 3.0]]);
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    SetClampingMode {
        /// `soft` cuts boxes to the image, `none` leaves them as they are.
        clamping_mode: Clamping, "soft and none work"
    }
}
