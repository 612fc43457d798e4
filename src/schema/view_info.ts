/** The writes that the database permits on a view. */
export interface ViewInfo {
  /** True if rows can be inserted into the view. */
  readonly insert: boolean;
  /** True if rows of the view can be updated. */
  readonly update: boolean;
  /** True if rows of the view can be deleted. */
  readonly delete: boolean;
  /** True if INSTEAD OF triggers write the rows. RETURNING can then differ from the view's rows. */
  readonly isTriggered: boolean;
  /** True if a SELECT can lock the rows. */
  readonly locksRows: boolean;
}

export const readOnlyView: ViewInfo = Object.freeze({
  ...{ insert: false, update: false, delete: false, isTriggered: false, locksRows: false },
});
