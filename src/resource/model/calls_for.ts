import type { HookContext } from "./hooks.ts";
import type { ResourceCall } from "./operation.ts";
import type { OpenTransaction } from "./code_caller.ts";

/**
 * What a hook or a procedure calls operations with: as the user of its own call, within the
 * transaction that is open for it. Null for none is the one that its call has joined, if any.
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
