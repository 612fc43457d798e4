/**
 * The binding of live lists and live aggregates to Vue.
 *
 * @example
 * ```ts ignore
 * import { liveList } from "@svc/resource-api/client";
 * import { useLive } from "@svc/resource-api/vue";
 *
 * const open = liveList(api.notes, { orderBy: ["-id"] });
 * // In the setup function of a component. The template shows `state.items`.
 * const state = useLive(open);
 * ```
 *
 * @module
 */
export { useLive } from "../src/client/bindings/vue.ts";
