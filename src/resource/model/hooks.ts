import type { User } from "../../auth/authorize.ts";
import type { DatabaseHandle } from "../../db/database_handle.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { ColumnLike, ServedValue } from "../../schema/table_like.ts";
import type { AnyApi, CodeApi } from "./code_api.ts";

/** The context that a resource's hook receives in addition to the row. */
export interface HookContext {
  /** The database. In after-hooks, it is the open transaction that also writes the row. */
  readonly db: DatabaseHandle;
  /** The user who writes, or null for an anonymous caller and for the system. */
  readonly user: User | null;
  /** True if code makes this write through `asSystem()`. */
  readonly isSystem: boolean;
  /** The request, whose body has been read. Null if code writes outside of any request. */
  readonly request: Request | null;
  /**
   * The operations of the app, for the user who writes. In after-hooks, the calls are part of the
   * open transaction. A hook must await each call.
   */
  readonly api: CodeApi<AnyApi>;
  /** The resource to which the hook belongs. */
  readonly resource: { readonly name: string; readonly url: string };
}

/** The context of a before-hook for a stored row. */
export interface StoredRowContext<S> extends HookContext {
  /**
   * Returns the stored row, including hidden columns. The row is not locked, so other requests can
   * change it until the transaction begins. The row is read at most once.
   */
  current(): Promise<S>;
}

/**
 * The hooks of a resource: functions that run before and after its writes. Before-hooks run before
 * the transaction, so slow work belongs there. Before-hooks can return a changed body, or throw a
 * `Problem` to reject the write. After-hooks run inside the transaction, before it commits. An
 * error of an after-hook rolls the transaction back. `Created` and `Updated` are the results of the
 * before-hooks, and `Key` is the type of the primary key. The compiler infers them.
 */
export interface Hooks<S, I, Created = unknown, Updated = unknown, Key = RowId> {
  /** Runs before a row is created. `data` contains the fields that the client is allowed to set. */
  onBeforeCreate?(context: HookContext, data: Partial<I>): NewValues<Created, I>;
  /** Runs after a row was inserted. */
  onAfterCreate?(context: HookContext, row: S): MaybePromise<void>;
  /** Runs before a row is changed, replaced or restored. `patch` contains the new values. */
  onBeforeUpdate?(context: StoredRowContext<S>, id: Key, patch: Partial<I>): NewValues<Updated, I>;
  /** Runs after a row was changed, replaced or restored. */
  onAfterUpdate?(context: HookContext, row: S): MaybePromise<void>;
  /** Runs before a row is removed or marked as deleted. */
  onBeforeDelete?(context: StoredRowContext<S>, id: Key): MaybePromise<void>;
  /** Runs after a row was removed or marked as deleted. `row` is that row. */
  onAfterDelete?(context: HookContext, id: Key, row: S): MaybePromise<void>;
  /** The time limit of one hook, in milliseconds. A slower hook fails with 500. Default: 5,000. */
  readonly timeoutMs?: number | undefined;
}

/** The result of a before-hook: values of columns, and no other property. */
export type NewValues<Returned, I> =
  & Returned
  & MaybePromise<
    | void
    | (
      & object
      & DeepReadonly<Partial<I>>
      & {
        readonly [
          Key in Awaited<Returned> extends infer Value
            ? Value extends object ? Exclude<keyof Value, keyof I> : never
            : never
        ]?: never;
      }
      // Rejects promises, which would otherwise pass as objects without values.
      & { readonly [Symbol.toStringTag]?: never }
    )
  >;

/** @internal The type `T` with readonly members at all levels, for values of `as const`. */
export type DeepReadonly<T> = unknown extends T ? T
  : T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
  : T;

/** The primary key of a row as hooks receive it: the value, or the values of a composite key. */
export type RowId = string | number | bigint | readonly (string | number | bigint)[];

/**
 * @internal The type of the key that hooks receive, inferred from the columns of the option `id`.
 * If `id` contains names, the type allows any key.
 */
export type KeyOf<Id> = Id extends ColumnLike<infer Value> ? ServedValue<Value>
  : Id extends readonly [infer Only] ? KeyOf<Only>
  : Id extends readonly [ColumnLike<unknown>, ...ColumnLike<unknown>[]] ? {
      readonly [Index in keyof Id]: Id[Index] extends ColumnLike<infer Value> ? ServedValue<Value>
        : never;
    }
  : RowId;

export type AnyHooks = Hooks<Record<string, unknown>, Record<string, unknown>>;
