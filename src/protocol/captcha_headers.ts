import { powHeaders } from "./pow_protocol.ts";

/** The header names of the CAPTCHA protocol, in lower case. */
export const captchaHeaders = {
  challengeType: powHeaders.challengeType,
  provider: "service-captcha-provider",
  siteKey: "service-captcha-sitekey",
  action: "service-captcha-action",
  /** The default name of the header in which clients send the token. */
  token: "service-captcha-token",
} as const;
