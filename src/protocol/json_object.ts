export function parseJsonObject(bytes: Uint8Array): object | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : null;
  } catch (error) {
    // `decode` throws a TypeError for invalid UTF-8, and `JSON.parse` a SyntaxError.
    if (error instanceof TypeError || error instanceof SyntaxError) return null;
    throw error;
  }
}
