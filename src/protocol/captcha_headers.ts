import { powHeaders } from "./pow_protocol.ts";

export const captchaHeaders = {
  challengeType: powHeaders.challengeType,
  provider: "service-captcha-provider",
  siteKey: "service-captcha-sitekey",
  action: "service-captcha-action",
  token: "service-captcha-token",
} as const;
