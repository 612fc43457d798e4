import type { HookContext } from "./hooks.ts";
import type { ResourceCall } from "./operation.ts";
import type { OpenTransaction } from "./code_caller.ts";

/**
 * Returns the functions with which a hook or a procedure calls operations. The functions act as the
 * user of the hook's or procedure's own call, within the open transaction. If `transaction` is
 * null, that is the transaction that the call has joined.
 */
export function callsFor(
  { resource, request, user }: ResourceCall,
  transaction: OpenTransaction | null = null,
): Pick<HookContext, "api" | "isSystem"> {
  const { code, raw } = request;
  const isSystem = code?.isSystem ?? false;
  const within = transaction ?? code?.within ?? null;
  return {
    api: resource.api({ user, isSystem, raw, depth: (code?.depth ?? 0) + 1, within }),
    isSystem,
  };
}
