import { describe, expect, it } from "vitest";
import { FlowFabric } from "../../src/index.ts";
import { Stage } from "./stage.ts";

/** The refusal a call must meet at once. */
function refusalOf(call: () => unknown): { code: string; message: string; details: object } {
	try {
		call();
	} catch (error) {
		return error as never;
	}
	throw new Error("was not refused");
}

describe("a handler that is no function", () => {
	for (const [what, handler] of [
		["undefined", undefined],
		["null", null],
		["object", {}],
		["string", "run"],
	] as const) {
		it(`is refused at once: ${what}`, async () => {
			const stage = await Stage.open();
			const error = refusalOf(() => stage.worker().handle("job", handler as never));
			expect(error).toMatchObject({ code: "invalid_input", details: { field: "handler" } });
			expect(error.message).toBe(`handler of "job": must be a function, got ${what}`);
		});
	}

	it("is refused as middleware too", async () => {
		const stage = await Stage.open();
		expect(refusalOf(() => stage.worker().use(undefined as never))).toMatchObject({
			code: "invalid_input",
			message: "middleware: must be a function, got undefined",
		});
	});

	it("a kind that is none is refused", async () => {
		const stage = await Stage.open();
		for (const kind of [undefined, "", "x".repeat(257)]) {
			const error = refusalOf(() => stage.worker().handle(kind as never, () => 1));
			expect(error).toMatchObject({ code: "invalid_input", details: { field: "kind" } });
		}
	});
});

describe("an option that is not known", () => {
	it("is refused by a worker, with the one that was meant", async () => {
		const stage = await Stage.open();
		const error = refusalOf(() => stage.ff.worker({ concurency: 4 } as never));
		expect(error).toMatchObject({ code: "invalid_input", details: { field: "concurency" } });
		expect(error.message).toBe("concurency: is not an option of worker(); did you mean concurrency?");
	});

	it("is refused by open, before anything is opened", async () => {
		await expect(FlowFabric.open("memory:", { partition: 4 } as never)).rejects.toMatchObject({
			code: "invalid_input",
			message: "partition: is not an option of open(); did you mean partitions?",
		});
	});

	it("is refused by connect", () => {
		const error = refusalOf(() => FlowFabric.connect("http://127.0.0.1:1", { tokn: "x" } as never));
		expect(error.message).toBe("tokn: is not an option of connect(); did you mean token?");
	});

	it("what is no object at all is refused", async () => {
		expect(refusalOf(() => FlowFabric.connect("http://127.0.0.1:1", null as never))).toMatchObject({
			code: "invalid_input",
			message: "options: must be an object of options of connect(), got null",
		});
		await expect(FlowFabric.open("memory:", "x" as never)).rejects.toMatchObject({ code: "invalid_input" });
	});
});
