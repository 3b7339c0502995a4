export const LANES = ["default", "media"];
export const CAPABILITIES = ["gpu", "tpu"];
