import type { User } from "../../auth/user.ts";
import type { DatabaseHandle } from "../../db/database_handle.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { ColumnLike, ServedValue } from "../../schema/table_like.ts";
import type { AnyApi, CodeApi } from "./code_api.ts";

/** What a resource's hook receives beside the row. */
export interface HookContext {
  /** In after-hooks the open transaction: what it writes is committed or rolled back with the row. */
  readonly db: DatabaseHandle;
  /** The user who writes; null for an anonymous caller, and for the system. */
  readonly user: User | null;
  /** True if code writes by `asSystem()`. */
  readonly isSystem: boolean;
  /** The request; its body has been read. Null if code writes outside of any request. */
  readonly request: Request | null;
  /**
   * The operations of the app, for the same user. In after-hooks they are a part of the open
   * transaction; each call must be awaited before the hook ends.
   */
  readonly api: CodeApi<AnyApi>;
  /** Which resource is written to. */
  readonly resource: { readonly name: string; readonly url: string };
}

/** What a before-hook receives about a row that is stored already. */
export interface StoredRowContext<S> extends HookContext {
  /**
   * Returns the row as it was stored before the hook, hidden columns included. It is not locked: other
   * requests may change it until the transaction begins. Reads the row only where that has not been
   * done already, and once, however often it is called.
   */
  current(): Promise<S>;
}

/**
 * The hooks of a resource: functions that run before and after its writes. Before-hooks run before
 * the transaction: slow work belongs there. They may return a changed body, or throw a `Problem` to
 * veto. After-hooks run inside the transaction, before it commits; what they throw rolls it back.
 * `Created` and `Updated` are what the before-hooks return, and `Key` is the type of the primary key;
 * the compiler infers them.
 */
export interface Hooks<S, I, Created = unknown, Updated = unknown, Key = RowId> {
  /** Before a row is created; `data` is the body after stripping. */
  onBeforeCreate?(
    context: HookContext,
    data: Partial<I>,
  ): NewValues<Created, I>;
  /** After a row was inserted. */
  onAfterCreate?(context: HookContext, row: S): MaybePromise<void>;
  /** Before a row is changed, replaced or restored; `patch` holds what will be set. */
  onBeforeUpdate?(
    context: StoredRowContext<S>,
    id: Key,
    patch: Partial<I>,
  ): NewValues<Updated, I>;
  /** After a row was changed, replaced or restored. */
  onAfterUpdate?(context: HookContext, row: S): MaybePromise<void>;
  /** Before a row is removed or marked deleted. */
  onBeforeDelete?(context: StoredRowContext<S>, id: Key): MaybePromise<void>;
  /** After a row was removed or marked deleted; `row` is as it was, or as it is marked. */
  onAfterDelete?(context: HookContext, id: Key, row: S): MaybePromise<void>;
  /** How long one hook may take; 5,000 unless set. Over it, the write rolls back with a 500. */
  readonly timeoutMs?: number | undefined;
}

/**
 * What a before-hook of a resource returns, where it is `Returned`: values of columns, and no
 * property that is none.
 */
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
      // A promise must not pass as an object without values.
      & { readonly [Symbol.toStringTag]?: never }
    )
  >;

/** A type with all that is within it readonly, so that it accepts constants. */
export type DeepReadonly<T> = unknown extends T ? T
  : T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
  : T;

/** The primary key of a row as hooks receive it: the value, or the values of a composite key. */
export type RowId = string | number | bigint | readonly (string | number | bigint)[];

/** The key that hooks receive, by the columns of the option `id`; any key where these are names. */
export type KeyOf<Id> = Id extends ColumnLike<infer Value> ? ServedValue<Value>
  : Id extends readonly [infer Only] ? KeyOf<Only>
  : Id extends readonly [ColumnLike<unknown>, ...ColumnLike<unknown>[]] ? {
      readonly [Index in keyof Id]: Id[Index] extends ColumnLike<infer Value> ? ServedValue<Value>
        : never;
    }
  : RowId;

/** The hooks of a resource without its row types: in process, rows are plain records. */
export type AnyHooks = Hooks<Record<string, unknown>, Record<string, unknown>>;
