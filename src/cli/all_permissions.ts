/** Returns true if this process has all permissions, which child processes with `-A` need. */
export function hasAllPermissions(): boolean {
  return permissions.every((name) => {
    const { state, partial } = Deno.permissions.querySync({ name });
    return state === "granted" && !partial;
  });
}

const permissions = ["read", "write", "net", "env", "sys", "run", "ffi"] as const;
