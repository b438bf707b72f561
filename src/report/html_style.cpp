#include "report/html_parts.hpp"

namespace ellice::html {

// Hues that stay apart for colour-blind readers (blue against orange, never red against green);
// text has a contrast of at least 4.5 in both schemes; what colour says is also said in words.
std::string_view style_sheet() {
  return R"(:root{--ink:#18212c;--quiet:#566373;--rule:#dfe4ea;--page:#f5f6f8;--paper:#fff;--track:#e6eaef;--now:#7b8794;
--blue:#0b5c94;--blue-2:#3f8fc6;--teal:#1d8a70;--amber:#c98a00;--orange:#b84a05;--plum:#93507a;--grey:#6f7a87;--pale:#a9b3be;
--wash:#fbeee4;color-scheme:light dark}
@media (prefers-color-scheme:dark){:root{--ink:#e8ecf1;--quiet:#a5b0bd;--rule:#333c47;--page:#12161b;--paper:#1a2027;--track:#303943;
--now:#8c98a6;--blue:#6cb4e8;--blue-2:#4a90c4;--teal:#4cc2a4;--amber:#e3ae3a;--orange:#f0935a;--plum:#cf93b8;--grey:#98a3b0;
--pale:#5d6875;--wash:#33261d}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
.page-head,main,footer{max-width:1080px;margin:0 auto;padding:0 28px}
.page-head{padding-top:52px}
h1{font-size:32px;line-height:1.2;font-weight:650;letter-spacing:-.01em;margin:0 0 8px}
h2{font-size:21px;font-weight:620;margin:56px 0 18px}
h3{font-size:16px;font-weight:620;margin:0 0 14px}
h4{font-size:13px;font-weight:620;margin:0 0 12px;color:var(--quiet)}
h5{font-size:13px;font-weight:500;margin:12px 0 2px}
.lead{font-size:18px;color:var(--quiet);margin:0;max-width:46em}
.lead strong{color:var(--ink);font-weight:600}
.quiet,.unit,.how,.key,.caption,figcaption{color:var(--quiet)}
.num{font-variant-numeric:tabular-nums}.num,.whole{white-space:nowrap}
code,pre{font:12.5px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
code{overflow-wrap:anywhere}
.overview,.request,.card{background:var(--paper);border:1px solid var(--rule);border-radius:10px;padding:28px 32px}
.overview{margin-top:36px}.overview h2{margin-top:0}
.figures{display:flex;flex-wrap:wrap;gap:20px 48px;margin:0 0 28px}
.figure{display:flex;flex-direction:column;max-width:15em;color:var(--quiet);font-size:14px;line-height:1.4}
.number{font-size:30px;line-height:1.25;font-weight:620;color:var(--ink);font-variant-numeric:tabular-nums;white-space:nowrap}
.legend{list-style:none;margin:12px 0 0;padding:0;display:flex;flex-wrap:wrap;gap:4px 26px;font-size:14px}
.swatch{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:7px}
.columns{display:grid;grid-template-columns:minmax(0,5fr) minmax(0,6fr);gap:44px;margin-top:36px}
.use{display:grid;grid-template-columns:9.5em 1fr 3em;gap:0 12px;align-items:center;font-size:14px;margin-bottom:10px}
.use .name{overflow-wrap:anywhere;line-height:1.3}.use .num{text-align:right}
.use .how{grid-column:2/4;font-size:13px;line-height:1.35}
.request{margin:0}
.request>div{display:grid;grid-template-columns:11em 1fr;gap:4px 24px;padding:9px 0;border-bottom:1px solid var(--rule);font-size:15px}
.request>div:last-child{border:0}
dt{color:var(--quiet)}dd{margin:0}
.toolbar{display:flex;flex-wrap:wrap;gap:12px 22px;align-items:center;margin:0 0 18px;font-size:14px}
.toolbar[hidden],.card[hidden],.none-match[hidden]{display:none}
select,input,button{font:inherit;color:inherit;background:var(--paper);border:1px solid var(--pale);border-radius:6px;padding:5px 10px}
button{cursor:pointer}
:focus-visible{outline:2px solid var(--blue);outline-offset:2px}
.card{margin:0 0 22px}
.card-head{display:flex;flex-wrap:wrap;justify-content:space-between;align-items:baseline;gap:6px 16px}
.card-head h3{margin:0;font-size:15px;overflow-wrap:anywhere}.card-head h3 .quiet{font-weight:400;margin-left:6px}
.badge{font-size:13px;font-weight:600;background:none!important;display:inline-flex;align-items:center;gap:7px}
.badge::before{content:"";width:9px;height:9px;border-radius:50%;background:var(--tone)}
.sentence{font-size:20px;line-height:1.45;margin:10px 0 22px;max-width:44em;text-wrap:pretty;overflow-wrap:break-word}
.sentence strong{font-weight:620}
.part{margin:18px 0 0}.part>h4{font-size:15px;color:var(--ink);margin:0 0 10px}
.part-name{font-weight:400;color:var(--quiet)}
.part{border:1px solid var(--rule);border-left-width:4px;border-radius:8px;padding:16px 20px 14px}
.why{border-left-color:var(--orange)}.plan{border-left-color:var(--blue);margin-bottom:26px}
.plan table.changes{margin-bottom:14px}.plan .sentence{margin:6px 0 16px}
.part .caption{margin:0;max-width:64em}
.reasons{list-style:none;margin:0 0 12px;padding:0}
.reasons li{display:grid;grid-template-columns:1.2em minmax(0,1fr) 22% 3.6em;gap:4px 14px;align-items:center;padding:6px 0;font-size:15px;line-height:1.4}
.reasons li+li{border-top:1px solid var(--rule)}
.reasons .rank{color:var(--quiet);font-variant-numeric:tabular-nums}.reasons .num{text-align:right}
.reasons .words{overflow-wrap:anywhere}
.code{font-size:13px;font-weight:600;border:1px solid var(--pale);border-radius:4px;padding:0 6px;margin-right:4px;white-space:nowrap}
.note{font-size:14px;color:var(--quiet);border-left:3px solid var(--amber);padding-left:12px;margin:0 0 18px}
table.changes{border-collapse:collapse;width:100%;font-size:15px;margin:0 0 26px}
.changes th{font-weight:500;text-align:left;padding:9px 14px 9px 0;overflow-wrap:anywhere}
.changes thead th{font-size:13px;color:var(--quiet);border-bottom:1px solid var(--rule);padding-bottom:6px}
.changes tbody tr{border-bottom:1px solid var(--rule)}
.changes td{padding:9px 0}
.changes .num{text-align:right;width:1%;padding-left:18px}.changes .unit{width:1%;padding-left:6px;white-space:nowrap}
.changes td.arrow{color:var(--quiet);padding:0 0 0 14px;width:1%}
.changes td.new{font-weight:620}
.trade-off th:last-child,.trade-off td:last-child{padding-left:18px}
.changes .picture{width:44%;padding-left:36px;vertical-align:middle}
.chips{display:flex;flex-wrap:wrap;gap:6px}
.chip{font-size:13px;line-height:1.3;padding:2px 10px;border:1px solid var(--rule);border-radius:20px;color:var(--quiet)}
.chip.was{border:2px solid var(--now);color:var(--ink)}
.chip.becomes{background:var(--blue);border-color:var(--blue);color:var(--paper);font-weight:600}
.panels{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:28px 44px;margin-bottom:16px}
.panel{min-width:0;font-size:14px}.panel p{margin:0 0 8px}.panel ul{margin:0;padding-left:20px}
.score{display:grid;grid-template-columns:4.6em 1fr 5em;gap:12px;align-items:center;font-size:13px;line-height:1.7}
.score .num{text-align:right;font-size:14px}
.panel .key{font-size:13px;margin-top:10px}
.key-mark{display:inline-block;width:2px;height:12px;background:var(--ink);margin:0 8px 0 2px;vertical-align:-2px}
.facts{display:grid;grid-template-columns:repeat(4,minmax(0,1fr));gap:18px 36px;margin:6px 0 22px;padding-top:18px;border-top:1px solid var(--rule);font-size:13px;line-height:1.4}
.facts dt{font-weight:620;margin-bottom:4px}.facts .num{font-size:16px;font-weight:620}
.facts .plot{margin:3px 0 5px}
.overview h3{margin-top:26px}.trade-off td,.trade-off th{padding-right:16px}
.asked .values{grid-template-columns:repeat(auto-fill,minmax(340px,1fr))}.asked .values dd{overflow-wrap:anywhere;text-align:right}
.facts.alone{grid-template-columns:1fr;max-width:46em}.asked details{margin:10px 2px}.experts .facts{border:0;margin:0;padding-top:8px}
figure{margin:0}figcaption,.caption{font-size:13px;line-height:1.4}
details{border-top:1px solid var(--rule);padding:9px 0;font-size:14px}
details:last-child{padding-bottom:0}
summary{cursor:pointer;color:var(--quiet)}summary:hover{color:var(--ink)}
details p{margin:10px 0;max-width:62em}
details table.changes{margin:10px 0}
.values{display:grid;grid-template-columns:repeat(auto-fill,minmax(250px,1fr));gap:0 36px;margin:10px 0 4px}
.values>div{display:flex;justify-content:space-between;gap:14px;padding:4px 0}
.values dt{overflow-wrap:anywhere}
pre{background:var(--page);border-radius:6px;padding:14px;overflow:auto;max-height:340px;white-space:pre-wrap;overflow-wrap:anywhere;margin:8px 0}
footer{color:var(--quiet);font-size:13px;padding-top:28px;padding-bottom:44px}
svg.plot{display:block;width:100%;overflow:visible}
svg.definitions{position:absolute}
svg text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;fill:var(--quiet)}
svg .mark-name{paint-order:stroke;stroke:var(--paper);stroke-width:3px}
svg .tick{font-variant-numeric:tabular-nums}
.track{stroke:var(--track);stroke-width:8;stroke-linecap:round}.track-fill{fill:var(--track)}
.stop{fill:var(--pale)}
.move{stroke:var(--blue);stroke-width:2}.arrow-head{fill:var(--blue)}
.now{fill:var(--paper);stroke:var(--now);stroke-width:2.5}.then{fill:var(--blue);stroke:var(--paper);stroke-width:1.5}
.fill,.column{fill:var(--blue)}.fill-now{fill:var(--now)}.fill-warn{fill:var(--orange)}
.mark{stroke:var(--ink);stroke-width:2}
.segment{stroke:var(--paper);stroke-width:1.5}
.axis{stroke:var(--pale)}.grid{stroke:var(--rule)}
.line-chart{margin-left:42px}svg.line-chart{width:calc(100% - 48px)}
.curve{stroke:var(--blue);stroke-width:2.2;stroke-linecap:round}.curve-dot{fill:var(--blue)}
.closed{fill:var(--wash)}
.mark.asked{stroke:var(--ink);stroke-width:1.5}.mark.limit{stroke:var(--orange);stroke-width:1.5;stroke-dasharray:4 3}
svg .mark-name.asked{fill:var(--ink)}svg .mark-name.limit{fill:var(--orange)}
.s-optimal{--tone:var(--blue)}.s-certified{--tone:var(--blue-2)}.s-already_robust{--tone:var(--teal)}.s-reduced{--tone:var(--amber)}
.s-infeasible{--tone:var(--orange)}.s-not_found{--tone:var(--grey)}.s-uncertified{--tone:var(--plum)}.s-invalid{--tone:var(--pale)}
.segment{fill:var(--tone)}.swatch{background:var(--tone)}
@media (max-width:760px){
.page-head,main,footer{padding-left:16px;padding-right:16px}.page-head{padding-top:30px}
h1{font-size:26px}.lead{font-size:16px}h2{margin:40px 0 14px}
.overview,.request,.card{padding:20px 18px}
.columns{grid-template-columns:1fr;gap:32px}
.figures{gap:16px 32px}.number{font-size:25px}
.use{grid-template-columns:7.5em 1fr 2.4em}
.request>div{grid-template-columns:1fr}
.sentence{font-size:18px}
.changes thead{display:none}
.changes tbody tr{display:grid;grid-template-columns:1fr auto auto auto auto;align-items:baseline;padding:10px 0 12px}
.changes td,.changes tbody th,.changes td.num{padding:0;width:auto}.changes td.arrow{padding:0 8px}.changes td.unit:not(:empty){padding-left:5px}
.changes .picture{grid-column:1/-1;width:auto;padding:10px 0 0}
.reasons li{grid-template-columns:1.2em minmax(0,1fr) 3.6em}.reasons .plot{grid-column:2/3;grid-row:2}.reasons .num{grid-row:1/3;grid-column:3}
.part{padding:14px 14px 12px}
.panels{grid-template-columns:1fr}.facts{grid-template-columns:repeat(2,minmax(0,1fr));gap:16px 22px}
}
.letters .overview,.letters .asked,.letters .panels,.letters .facts,.letters details,.letters .page-head .lead{display:none}
.letters .card{break-after:page}
@media print{
:root{--page:#fff;--ink:#000;--quiet:#333}
body{font-size:11pt}.toolbar{display:none!important}
.overview,.request,.card{border-color:#bbb;padding:14pt}.card,.panel,tr,figure{break-inside:avoid}
.page-head,main,footer{max-width:none;padding-left:0;padding-right:0}
pre{max-height:none}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}
}
)";
}

std::string_view script() {
  return R"((function () {
  var bar = document.querySelector('.toolbar');
  if (!bar) return;
  var cards = Array.prototype.slice.call(document.querySelectorAll('.card'));
  var status = document.getElementById('by-status'), text = document.getElementById('by-text');
  var none = document.querySelector('.none-match'), open = document.getElementById('open-all');
  function filter() {
    var words = text.value.trim().toLowerCase(), shown = 0;
    cards.forEach(function (card) {
      var fits = (!status.value || card.dataset.status === status.value) &&
                 card.dataset.text.toLowerCase().indexOf(words) >= 0;
      card.hidden = !fits;
      if (fits) shown += 1;
    });
    none.hidden = shown > 0;
  }
  var opened = false;
  open.addEventListener('click', function () {
    opened = !opened;
    document.querySelectorAll('details').forEach(function (part) { part.open = opened; });
    open.textContent = opened ? 'Close all details' : 'Open all details';
  });
  var letters = document.getElementById('letters');
  letters.addEventListener('click', function () {
    var only = document.body.classList.toggle('letters');
    letters.textContent = only ? 'Show everything' : 'Letters only';
  });
  status.addEventListener('change', filter);
  text.addEventListener('input', filter);
  bar.hidden = false;
})();
)";
}

}  // namespace ellice::html
