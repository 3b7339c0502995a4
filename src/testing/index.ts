export type { CallName } from "./faulty-calls.ts";
export { openTest, TestFabric, type TestOptions } from "./test-fabric.ts";
