const maxLength = 500;

export function toClientMessage(text: string): string | null {
  const line = text.slice(0, 2 * maxLength).replace(/[\p{Cc}\s]+/gu, " ").trim().toWellFormed();
  const characters = [...line];
  if (characters.length === 0) return null;
  return characters.length <= maxLength && text.length <= 2 * maxLength
    ? line
    : `${characters.slice(0, maxLength - 1).join("")}…`;
}
