/** The maximum length of a database trigger's or function's message for clients, in characters. */
const maxLength = 500;

/** Returns a message of a trigger or function for clients: one line of limited length, or null. */
export function toClientMessage(text: string): string | null {
  const line = text.slice(0, 2 * maxLength).replace(/[\p{Cc}\s]+/gu, " ").trim().toWellFormed();
  const characters = [...line];
  if (characters.length === 0) return null;
  return characters.length <= maxLength && text.length <= 2 * maxLength
    ? line
    : `${characters.slice(0, maxLength - 1).join("")}…`;
}
