import { once } from "node:events";
import { FlowFabric } from "flowfabric";

/**
 * A release: build, three test suites at once, approval by two people, deploy, verify. When anything fails, the rest is cancelled
 * at once, including running work. You need no network. Run it after `npm run build`.
 */

type Kinds = {
	build: { input: { version: string }; result: { image: string } };
	test: { input: { suite: string; isBroken: boolean }; result: { passed: number } };
	agree: { input: undefined; result: { by: string[] } };
	deploy: { input: undefined; result: { url: string } };
	verify: { input: undefined; result: { isUp: boolean } };
};

const ff = await FlowFabric.open<Kinds>("memory:");
const worker = ff.worker({ concurrency: 8 });
const parent = <T>(result: unknown) => result as T;

worker.handle("build", (_ctx, { version }) => ({ image: `shop:${version}` }));

/** Test suites that never end, for the release in which one suite is broken. */
let hanging = 0;
worker.handle("test", async (ctx, { suite, isBroken }) => {
	if (!isBroken) return { passed: suite.length };
	if (suite !== "unit") {
		hanging += 1;
		await once(ctx.signal, "abort");
		ctx.signal.throwIfAborted();
	}
	while (hanging < 2) await ctx.sleep(5);
	throw new Error("2 of 40 failed");
});

worker.handle("agree", async (ctx) => {
	const signals = await ctx.waitFor("release", {
		condition: { count: { n: 2, distinctBy: "source", match: "approve" } },
		reason: "waiting_for_approval",
	});
	return { by: signals.map(({ source }) => source?.identity ?? "") };
});

worker.handle("deploy", ({ parents }) => {
	const { image } = parent<Kinds["build"]["result"]>(parents.build?.result);
	const { by } = parent<Kinds["agree"]["result"]>(parents.agree?.result);
	console.log(`deploying ${image}, as ${by.join(" and ")} said`);
	return { url: `https://${image.replace(":", ".")}.example` };
});

worker.handle("verify", ({ parents }) => {
	const { url } = parent<Kinds["deploy"]["result"]>(parents.deploy?.result);
	console.log(`verifying ${url}`);
	return { isUp: true };
});
await worker.start();

const suites = ["unit", "browser", "load"];

async function release(version: string, isBroken: boolean): Promise<void> {
	const flow = ff.flow("release", { tags: { version } }).node("build", "build", { version });
	for (const suite of suites) flow.node(suite, "test", { suite, isBroken }, { after: ["build"] });
	const run = await flow
		.node("agree", "agree", undefined, { after: suites.map((node) => ({ node })) })
		.node("deploy", "deploy", undefined, { after: ["agree", "build"] })
		.node("verify", "verify", undefined, { after: ["deploy"] })
		.start();
	for await (const { type, executionId = "" } of run.events()) {
		if (type === "suspended")
			for (const identity of ["Ann", "Bob"]) await ff.approve(executionId, { name: "approve", identity });
		if (type === "failed") await run.cancel({ reason: `${version} is broken` });
	}
	const { state, nodes } = await run.graph();
	console.log(`${version} ${state}: ${nodes.map(({ key, publicState }) => `${key} ${publicState}`).join(", ")}`);
}

await release("1.0", false);
await release("1.1", true);
await ff.close();
