/**
 * Starts a process as root without the privilege to write where the mode of a folder forbids it. Null
 * if this machine has no program for that.
 */
export const withoutPrivilege: readonly string[] | null = Deno.uid() === 0 ? setpriv() : [];

function setpriv(): readonly string[] | null {
  const privileges = "--bounding-set=-dac_override,-dac_read_search";
  try {
    const { success } = new Deno.Command("setpriv", { args: [privileges, "true"] }).outputSync();
    return success ? ["setpriv", privileges] : null;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}
