/**
 * The binding of live lists and live aggregates to React.
 *
 * @example
 * ```tsx ignore
 * import { liveList } from "@svc/resource-api/client";
 * import { useLive } from "@svc/resource-api/react";
 *
 * const open = liveList(api.notes, { orderBy: ["-id"] }); // outside of the component
 * const Notes = () => {
 *   const { items } = useLive(open);
 *   return <ul>{items.map(({ id, title }) => <li key={id}>{title}</li>)}</ul>;
 * };
 * ```
 *
 * @module
 */
export { useLive } from "../src/client/bindings/react.ts";
