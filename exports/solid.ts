/**
 * The binding of live lists and live aggregates to Solid.
 *
 * @example
 * ```tsx ignore
 * import { liveList } from "@svc/resource-api/client";
 * import { useLive } from "@svc/resource-api/solid";
 *
 * const open = liveList(api.notes, { orderBy: ["-id"] }); // outside of the component
 * const Notes = () => {
 *   const state = useLive(open);
 *   return <ul><For each={state().items}>{({ title }) => <li>{title}</li>}</For></ul>;
 * };
 * ```
 *
 * @module
 */
export { useLive } from "../src/client/bindings/solid.ts";
