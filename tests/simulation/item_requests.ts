/** Requests that concern one item, and what their responses say about the row. */
import type { Effect, History, Operation, RowState } from "./history.ts";

type Row = Readonly<Record<string, unknown>>;

/** A request for one row. */
export interface ItemRequest {
  readonly id: number;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The effect while the outcome is unknown. */
  readonly effect: Effect;
  /** Returns the effect that the response claims. `row` is null if the response has no row. */
  answered(status: number, row: Row | null): Effect;
}

export function createItem(id: number, row: Row): ItemRequest {
  const effect: Effect = (state) => state === null ? { ...row, version: 1 } : undefined;
  return {
    ...{ id, method: "POST", path: "/api/items", body: { id, ...row }, effect },
    answered: (status) =>
      status === 201 ? effect : (state) => status === 409 && state !== null ? state : undefined,
  };
}

/** With `match`, the request has `If-Match` with this version. */
export function patchItem(id: number, body: Row, match?: number): ItemRequest {
  const effect: Effect = (state) =>
    state === null || (match !== undefined && state["version"] !== match)
      ? undefined
      : { ...state, ...body, version: Number(state["version"]) + 1 };
  return {
    ...{ id, method: "PATCH", path: `/api/items/${id}`, body, effect },
    headers: match === undefined ? {} : { "if-match": `W/"${match}"` },
    answered: (status, row) => (state) => {
      if (status === 200) {
        const next = effect(state);
        return next !== undefined && isSameItem(next, row ?? {}) ? next : undefined;
      }
      if (status === 404) return state === null ? null : undefined;
      return status === 412 && state !== null && state["version"] !== match ? state : undefined;
    },
  };
}

export function deleteItem(id: number): ItemRequest {
  const effect: Effect = (state) => state === null ? undefined : null;
  return {
    ...{ id, method: "DELETE", path: `/api/items/${id}`, effect },
    answered: (status) => (state) =>
      status === 204 ? effect(state) : status === 404 && state === null ? null : undefined,
  };
}

export function readItem(id: number): ItemRequest {
  return {
    ...{ id, method: "GET", path: `/api/items/${id}`, effect: (state) => state },
    answered: (status, row) => (state) => {
      if (status === 404) return state === null ? null : undefined;
      return status === 200 && isSameItem(state, row ?? {}) ? state : undefined;
    },
  };
}

/** The response to a request. */
export interface ItemResponse {
  readonly status: number;
  readonly text: string;
}

/**
 * Records a request in a history. Returns its outcome, which is unknown if `send` returns null, or
 * if the response says that the connection was lost during the commit.
 */
export async function recordItemRequest(
  history: History,
  { id, method, body, headers, effect, answered }: ItemRequest,
  send: () => Promise<ItemResponse | null>,
): Promise<"ok" | "fail" | "unknown"> {
  const operation = history.begin(id, `${method} ${JSON.stringify({ body, headers })}`, effect);
  const response = await send();
  if (response === null) return "unknown";
  const { status, text } = response;
  note(operation, `${status} ${text}`);
  if (status !== 503 && !text.includes("/query-too-expensive")) {
    const row: Row | null = status < 300 && text !== "" ? JSON.parse(text) : null;
    history.end(operation, answered(status, row));
    return "ok";
  }
  if (text.includes(unknownMark)) return "unknown";
  history.drop(operation);
  return "fail";
}

/** A part of the message of a write whose outcome is unknown. */
export const unknownMark = "was lost while the write was confirmed";

function note(operation: Operation, text: string): void {
  Object.assign(operation, { label: `${operation.label}: ${text}` });
}

export function isSameItem(left: RowState, right: RowState): boolean {
  if (left === null || right === null) return left === right;
  const names = ["projectId", "rank", "title", "version"];
  return names.every((name) => (left[name] ?? null) === (right[name] ?? null));
}
