// A bot on grammY that does what its persons say. It says on its output, a line of
// JSON each, what it sees.
const { Bot, GrammyError, InlineKeyboard, InputFile } = require("grammy");

const [root, token] = process.argv.slice(2);
const say = (what) => console.log(JSON.stringify(what));
const bot = new Bot(token, { client: { apiRoot: root } });

bot.on("message:document", async (ctx) => {
  const file = await ctx.getFile();
  const got = await fetch(`${root}/file/bot${token}/${file.file_path}`);
  say({ file: await got.text(), caption: ctx.message.caption });
});
bot.on("edited_message:text", (ctx) => say({ edited: ctx.editedMessage.text, id: ctx.editedMessage.message_id }));
bot.on("callback_query:data", async (ctx) => {
  await ctx.answerCallbackQuery();
  await ctx.editMessageReplyMarkup();
  say({ pressed: ctx.callbackQuery.data });
});
bot.command("start", (ctx) => say({ command: "start", chat: ctx.chat.type, mentioned: ctx.entities("mention").length }));
bot.on("message:text", async (ctx) => {
  const text = ctx.message.text;
  try {
    switch (text) {
      case "file": return await ctx.replyWithDocument(new InputFile(Buffer.from("from grammy"), "a.txt"), { caption: "<b>here</b>", parse_mode: "HTML" });
      case "photo": return await ctx.replyWithPhoto(new InputFile(Buffer.from("pixels"), "a.png"));
      case "button": return await ctx.reply("choose", { reply_markup: new InlineKeyboard().text("yes", "y1").text("no", "n1") });
      case "edit": {
        const sent = await ctx.reply("one");
        return await ctx.api.editMessageText(ctx.chat.id, sent.message_id, "two");
      }
      case "draft": return await ctx.api.raw.sendMessageDraft({ chat_id: ctx.chat.id, draft_id: 7, text: "so far" });
      case "typing": return await ctx.replyWithChatAction("typing");
      case "long": return await ctx.reply("x".repeat(4097));
      case "broken": return await ctx.reply("<b>open", { parse_mode: "HTML" });
      case "topic": return await ctx.reply("in the topic");
      default: return await ctx.reply(text + " too", { reply_parameters: { message_id: ctx.message.message_id } });
    }
  } catch (e) {
    if (!(e instanceof GrammyError)) throw e;
    say({ error: e.error_code, description: e.description, retry_after: e.parameters.retry_after ?? 0 });
  }
});

(async () => {
  await bot.init();
  say({ login: bot.botInfo.username });
  process.on("SIGTERM", () => bot.stop());
  try {
    await bot.start({ allowed_updates: ["message", "edited_message", "callback_query"] });
    say({ stopped: true });
  } catch (e) {
    say({ ended: e.error_code, description: e.description });
  }
})();
