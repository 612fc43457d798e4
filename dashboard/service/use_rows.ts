import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { operatorRows, type Rows } from "./resources.ts";

/** A user with whose rights the operator looks at the service. */
export interface ViewedUser {
  readonly id: string;
  readonly [property: string]: unknown;
}

/** How rows are read, and whether they may be written. */
export interface RowsAccess {
  readonly rows: Rows;
  readonly mayWrite: boolean;
}

/** Where components find how rows are read. */
export const RowsContext = createContext<RowsAccess>({ rows: operatorRows, mayWrite: true });

/** How rows are read. */
export function useRows(): RowsAccess {
  return useContext(RowsContext);
}
