/**
 * The binding of live lists and live aggregates to React.
 *
 * @example
 * ```tsx ignore
 * import { rsql } from "@svc/resource-api/client";
 * import { useLiveList } from "@svc/resource-api/react";
 *
 * const Notes = ({ owner }: { owner: number }) => {
 *   const { items } = useLiveList(api.notes, { filter: rsql`ownerId==${owner}` });
 *   return <ul>{items.map(({ id, title }) => <li key={id}>{title}</li>)}</ul>;
 * };
 * ```
 *
 * @module
 */
export {
  type ReactHookOptions,
  useLive,
  useLiveAggregate,
  useLiveList,
} from "../src/client/bindings/react.ts";
