/**
 * The binding of live lists and live aggregates to Vue.
 *
 * @example
 * ```ts ignore
 * import { rsql } from "@svc/resource-api/client";
 * import { useLiveList } from "@svc/resource-api/vue";
 *
 * // In the setup function of a component. The template shows `state.items`.
 * const state = useLiveList(api.notes, () => ({ filter: rsql`ownerId==${props.owner}` }));
 * ```
 *
 * @module
 */
export {
  type RefOrGetter,
  useLive,
  useLiveAggregate,
  useLiveList,
} from "../src/client/bindings/vue.ts";
