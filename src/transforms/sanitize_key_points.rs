use super::of_objects::of_objects;

of_objects! {
    /// Removes objects of which a keypoint lies outside the image: torchvision's `SanitizeKeyPoints`. It leaves pixels alone.
    ///
    /// Keypoints that are not labelled do not count. All values of a removed object go with it.
    ///
    /// ```
    /// use gpufeed::targets::{Moves, Objects};
    /// use gpufeed::transforms::{Key, SanitizeKeyPoints};
    /// use gpufeed::{Output, Plan};
    ///
    /// let plan = Plan::compile(&[SanitizeKeyPoints::new().into()], &Output::default())?;
    /// let mut objects = Objects::of_keypoints(1, vec![[-2.0, 1.0], [3.0, 4.0]], vec![2, 2])?;
    /// Moves::of(&plan.make_params(10, 10, &Key::default())?)?.objects(&mut objects)?;
    /// assert_eq!(objects.keypoints(), [[3.0, 4.0]]);
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    #[derive(Default)]
    SanitizeKeyPoints {}
}
