use super::of_objects::of_objects;

of_objects! {
    /// Moves keypoints to the pixels of the image: torchvision's `ClampKeyPoints`. It leaves pixels alone, and keypoints that are not
    /// labelled.
    ///
    /// ```
    /// use gpufeed::targets::{Moves, Objects};
    /// use gpufeed::transforms::{Key, ClampKeyPoints};
    /// use gpufeed::{Output, Plan};
    ///
    /// let plan = Plan::compile(&[ClampKeyPoints::new().into()], &Output::default())?;
    /// let mut objects = Objects::of_keypoints(1, vec![[-2.0, 12.5]], vec![2])?;
    /// Moves::of(&plan.make_params(10, 10, &Key::default())?)?.objects(&mut objects)?;
    /// assert_eq!(objects.keypoints(), [[0.0, 9.0]]);
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    #[derive(Default)]
    ClampKeyPoints {}
}
