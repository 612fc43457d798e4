import type { User } from "../auth/user.ts";
import type { Connection } from "../db/driver.ts";
import type { Clock } from "../runtime/runtime.ts";

/** What a hook is told beside the row. */
export interface HookContext {
  /** In after-hooks the open transaction: what it writes is committed or rolled back with the row. */
  readonly db: Connection;
  readonly user: User | null;
  readonly request: Request;
  readonly resource: { readonly name: string; readonly url: string };
}

/**
 * Functions around the writes of a resource. Before-hooks run before the transaction: slow work
 * belongs there. They may return a changed body, or throw a `Problem` to veto. After-hooks run
 * inside the transaction, before it commits; what they throw rolls it back.
 */
export interface Hooks<S, I> {
  onBeforeCreate?(context: HookContext, data: Partial<I>): MaybePromise<Partial<I> | void>;
  onAfterCreate?(context: HookContext, row: S): MaybePromise<void>;
  onBeforeUpdate?(
    context: HookContext,
    id: RowId,
    patch: Partial<I>,
  ): MaybePromise<Partial<I> | void>;
  onAfterUpdate?(context: HookContext, row: S): MaybePromise<void>;
  onBeforeDelete?(context: HookContext, id: RowId): MaybePromise<void>;
  onAfterDelete?(context: HookContext, id: RowId): MaybePromise<void>;
  /** How long one hook may take; 5,000 unless set. Over it, the write rolls back with a 500. */
  readonly timeoutMs?: number | undefined;
}

/** A primary key as hooks and events see it: the value, or the values of a composite key. */
export type RowId = string | number | bigint | readonly (string | number | bigint)[];

/** A value, or a promise of it. */
export type MaybePromise<T> = T | Promise<T>;

/** The hooks of a resource, settled; rows are plain records in process. */
export type AnyHooks = Hooks<Record<string, unknown>, Record<string, unknown>>;

/** Waits for a hook as long as it may take. Throws a plain Error past that. */
export async function withinTime<T>(
  work: () => MaybePromise<T>,
  timeoutMs: number,
  clock: Clock,
): Promise<T> {
  const late = Promise.withResolvers<never>();
  const cancel = clock.after(
    timeoutMs,
    () => late.reject(new Error(`A hook took longer than ${timeoutMs} ms`)),
  );
  try {
    return await Promise.race([work(), late.promise]);
  } finally {
    cancel();
  }
}
