import { expect, expectTypeOf, it } from "vitest";
import { FlowFabric, type Run } from "../../src/index.ts";

interface Sum {
	numbers: number[];
}

type Kinds = {
	sum: { input: Sum; result: number };
	greet: { input: string; result: { text: string } };
};

/** The compiler is the test here; the run only shows that the program works. */
it("inputs and results are typed by kind, for submitters and handlers", async () => {
	const ff = await FlowFabric.open<Kinds>("memory:");
	const worker = ff.worker({ handleSignals: false });
	worker.handle("sum", (ctx, input) => {
		expectTypeOf(input).toEqualTypeOf<Sum>();
		expectTypeOf(ctx.input).toEqualTypeOf<Sum>();
		return input.numbers.reduce((a, b) => a + b, 0);
	});
	worker.handle("greet", async (_ctx, name) => ({ text: `hello ${name}` }));
	await worker.start();

	const sum = await ff.submit("sum", { numbers: [1, 2, 3] });
	expectTypeOf(sum).toEqualTypeOf<Run<number>>();
	expect(await sum.result()).toBe(6);
	const greeting = await ff.submit("greet", "ada");
	expect((await greeting.result()).text).toBe("hello ada");
	await ff.close();

	const wrong = () => {
		// @ts-expect-error: there is no such kind
		void ff.submit("subtract", 1);
		// @ts-expect-error: not the input of this kind
		void ff.submit("sum", "text");
		// @ts-expect-error: there is no such kind
		worker.handle("subtract", () => 1);
		// @ts-expect-error: not the result of this kind
		worker.handle("sum", () => "text");
		// @ts-expect-error: there is no such option
		void ff.submit("greet", "ada", { prioritty: 1 });
	};
	expect(wrong).toBeTypeOf("function");
});

it("without kinds of its own a program may submit anything", async () => {
	const ff = await FlowFabric.open("memory:");
	const worker = ff.worker({ handleSignals: false });
	worker.handle("any", (_ctx, input: { n: number }) => input.n + 1);
	await worker.start();
	const run = await ff.submit("any", { n: 1 });
	expect(await run.result()).toBe(2);
	await ff.close();
});
