/**
 * The binding of live lists and live aggregates to Solid.
 *
 * @example
 * ```tsx ignore
 * import { rsql } from "@svc/resource-api/client";
 * import { useLiveList } from "@svc/resource-api/solid";
 *
 * const Notes = (props: { owner: number }) => {
 *   const state = useLiveList(api.notes, () => ({ filter: rsql`ownerId==${props.owner}` }));
 *   return <ul><For each={state().items}>{({ title }) => <li>{title}</li>}</For></ul>;
 * };
 * ```
 *
 * @module
 */
export { useLive, useLiveAggregate, useLiveList } from "../src/client/bindings/solid.ts";
