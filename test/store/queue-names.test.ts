import { expect, it } from "vitest";
import { DUE_QUEUE, LIST } from "../../src/kernel/placement.ts";
import { DUE, isTold, LISTING } from "../../src/store/port.ts";

it("the kernel names the queues that stores know as they know them", () => {
	expect({ DUE, LISTING }).toEqual({ DUE: DUE_QUEUE, LISTING: LIST });
	expect([DUE, `${LISTING}default,`, "eligible,default,"].map(isTold)).toEqual([false, false, true]);
});
