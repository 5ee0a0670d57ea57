// A bot on discord.js that does what its persons say. It says on its output, a line of
// JSON each, what it sees.
const { ActionRowBuilder, AttachmentBuilder, ButtonBuilder, ButtonStyle, Client, DiscordAPIError, Events, GatewayIntentBits, Partials } = require("discord.js");

const [root, token] = process.argv.slice(2);
const say = (what) => console.log(JSON.stringify(what));
const client = new Client({
  intents: [GatewayIntentBits.Guilds, GatewayIntentBits.GuildMessages, GatewayIntentBits.DirectMessages, GatewayIntentBits.MessageContent],
  partials: [Partials.Channel, Partials.Message],
  rest: { api: root + "/api" },
});

client.rest.on("rateLimited", (info) => say({ limited: info.retryAfter >= 0 }));
client.on(Events.ShardResume, (_, replayed) => say({ resumed: true }));
client.on(Events.ClientReady, () => say({ login: client.user.username }));
client.on(Events.MessageUpdate, (_, m) => m.author.bot || say({ edited: m.content }));
client.on(Events.InteractionCreate, async (i) => {
  await i.update({ components: [] });
  say({ pressed: i.customId, by: i.user.id });
});
client.on(Events.MessageCreate, async (m) => {
  if (m.author.bot) return;
  if (m.attachments.size) {
    const got = await fetch(m.attachments.first().url);
    return say({ file: await got.text(), name: m.attachments.first().name });
  }
  try {
    switch (m.content) {
      case "file": return await m.channel.send({ content: "here", files: [new AttachmentBuilder(Buffer.from("from discord.js"), { name: "a.txt" })] });
      case "button": return await m.channel.send({ content: "choose", components: [new ActionRowBuilder().addComponents(
        new ButtonBuilder().setCustomId("y1").setLabel("Yes").setStyle(ButtonStyle.Secondary),
        new ButtonBuilder().setCustomId("n1").setLabel("No").setStyle(ButtonStyle.Secondary))] });
      case "edit": return await (await m.channel.send("one")).edit("two");
      case "typing": return await m.channel.sendTyping();
      case "nonce": {
        const a = await m.channel.send({ content: "once", nonce: "n-1", enforceNonce: true });
        const b = await m.channel.send({ content: "once", nonce: "n-1", enforceNonce: true });
        return say({ same: a.id === b.id });
      }
      case "long": return await m.channel.send("x".repeat(2001));
      case "history": {
        const all = await m.channel.messages.fetch({ limit: 100 });
        return say({ first: [...all.values()].at(-1).content });
      }
      case "where": return say({ thread: m.channel.isThread(), parent: m.channel.parentId, mentioned: m.mentions.has(client.user) });
      default: return await m.reply(m.content + " too");
    }
  } catch (e) {
    if (!(e instanceof DiscordAPIError)) throw e;
    say({ error: e.status, code: e.code });
  }
});
client.on(Events.ShardDisconnect, (e) => { say({ ended: e.code }); process.exit(0); });
client.on(Events.Error, (e) => console.error(e));
process.on("SIGTERM", async () => { await client.destroy(); process.exit(0); });
client.login(token).catch((e) => { say({ refused: e.code ?? e.message }); process.exit(0); });
