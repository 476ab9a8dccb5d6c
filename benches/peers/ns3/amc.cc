// Where ns-3's link adaptation (LteAmc, its default model) reports each CQI on a flat channel: CSV of CQI and SINR in dB on stdout.
//
// Of every CQI the least SINR, found by bisection to a ten-thousandth of a decibel.

#include "ns3/core-module.h"
#include "ns3/lte-module.h"

#include <cmath>
#include <cstdio>

using namespace ns3;

namespace
{

constexpr uint16_t BLOCKS = 100;
constexpr uint8_t GROUP = 4;
constexpr uint32_t EARFCN = 100; // 2120 MHz

int
Cqi(Ptr<LteAmc> amc, double sinrDb)
{
    SpectrumValue sinr(LteSpectrumValueHelper::GetSpectrumModel(EARFCN, BLOCKS));
    sinr = std::pow(10, sinrDb / 10);
    return amc->CreateCqiFeedbacks(sinr, GROUP).at(0);
}

} // namespace

int
main()
{
    Ptr<LteAmc> amc = CreateObject<LteAmc>();
    std::printf("cqi,sinr_db\n");
    for (int cqi = 1; cqi <= 15; ++cqi)
    {
        double low = -15;
        double high = 30;
        while (high - low > 1e-4)
        {
            const double middle = (low + high) / 2;
            (Cqi(amc, middle) >= cqi ? high : low) = middle;
        }
        std::printf("%d,%.4f\n", cqi, high);
    }
    return 0;
}
