import { expect, it } from "vitest";
import { DUE_QUEUE } from "../../src/kernel/placement.ts";
import { DUE } from "../../src/store/port.ts";

it("stores know the queue of what is due by the kernel's name for it", () => {
	expect(DUE).toBe(DUE_QUEUE);
});
