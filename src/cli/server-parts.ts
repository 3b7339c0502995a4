/** A server takes longer to load than any other command to run, so only those that start one load it. */
export const serverParts = () => Promise.all([import("./hosting.ts"), import("./log.ts")]);
