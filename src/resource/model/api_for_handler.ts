import type { HookContext } from "./hooks.ts";
import type { ResourceCall } from "./operation.ts";
import type { OpenTransaction } from "./resource.ts";

/**
 * Returns the API with which a hook or a procedure calls operations. The API acts for the caller of
 * the current operation, within `transaction`. If `transaction` is null, the API acts within the
 * transaction that the operation itself belongs to, if any.
 */
export function apiForHandler(
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
